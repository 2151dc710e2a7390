import { expect, it } from "vitest";
import { instanceEnv, instanceName } from "../../local/instanceEnv.ts";

const storage = { DataStorage: "connection" };
const made = (inherited = {}, given = {}) => instanceEnv(inherited, "node-2", storage, given);

it("an instance has a name, a host id and the storage of its own", () => {
  expect(made()).toMatchObject({
    LEASEFOLD_INSTANCE: "node-2",
    AzureFunctionsWebHost__hostid: "leasefold-node-2",
    WEBSITE_SITE_NAME: "leasefold-up",
    DataStorage: "connection",
  });
  expect([0, 2, 9, 10].map(instanceName)).toEqual(["node-1", "node-3", "node-10", "node-11"]);
});

it("an instance inherits the environment, but nothing about a storage account", () => {
  const env = made({
    PATH: "/bin",
    DataStorage__blobServiceUri: "https://real.blob.core.windows.net",
    datastorage__queueserviceuri: "https://real.queue.core.windows.net",
    AzureWebJobsStorage__accountName: "real",
  });
  expect(env["PATH"]).toBe("/bin");
  expect(JSON.stringify(env)).not.toContain("real");
});

it("settings that are given to an instance override all others", () => {
  expect(
    made({ LEASEFOLD_NAMESPACE: "a" }, { LEASEFOLD_NAMESPACE: "b", DataStorage: "other" }),
  ).toMatchObject({
    LEASEFOLD_NAMESPACE: "b",
    DataStorage: "other",
  });
});
