import { expect, test, vi } from "vitest";
import { dataStorageFrom } from "../../src/azure/dataStorage.ts";

const loaded = vi.hoisted(() => ({ identities: [] as unknown[], times: 0 }));
vi.mock("@azure/identity", () => {
  loaded.times += 1;
  class Identity {
    constructor(options?: unknown) {
      loaded.identities.push([this.constructor.name, options]);
    }
    getToken = async (scopes: string) => ({ token: `for ${scopes}`, expiresOnTimestamp: 1 });
  }
  return {
    ManagedIdentityCredential: class ManagedIdentityCredential extends Identity {},
    DefaultAzureCredential: class DefaultAzureCredential extends Identity {},
  };
});

const uris = {
  DataStorage__blobServiceUri: "https://a.blob.core.windows.net",
  DataStorage__queueServiceUri: "https://a.queue.core.windows.net",
};

test("a connection string, or both addresses with an identity", () => {
  expect(dataStorageFrom({ DataStorage: "UseDevelopmentStorage=true" })).toEqual({
    connectionString: "UseDevelopmentStorage=true",
  });
  expect(dataStorageFrom({ ...uris, DataStorage__credential: "managedidentity" })).toMatchObject({
    blobServiceUri: uris.DataStorage__blobServiceUri,
    queueServiceUri: uris.DataStorage__queueServiceUri,
  });
});

test.each([
  [{}, "DataStorage is not set"],
  [{ ...uris, DataStorage__blobServiceUri: "" }, "DataStorage__blobServiceUri is not set"],
  [{ ...uris, DataStorage__queueServiceUri: "" }, "DataStorage__queueServiceUri is not set"],
  [{ ...uris, DataStorage: "x" }, "DataStorage and DataStorage__blobServiceUri are both set"],
  [
    { DataStorage: "x", DataStorage__queueServiceUri: "y" },
    "DataStorage and DataStorage__queueServiceUri are both",
  ],
])("%j is refused in one line that names the setting", (env, line) => {
  expect(() => dataStorageFrom(env)).toThrow(line);
});

test("the library of identities is loaded with the first token, and makes one identity", async () => {
  dataStorageFrom({ DataStorage: "UseDevelopmentStorage=true" });
  const client = { DataStorage__clientId: "c" };
  const connections = [{ DataStorage__credential: "ManagedIdentity", ...client }, client, {}].map((more) =>
    dataStorageFrom({ ...uris, ...more }),
  );
  expect(loaded).toEqual({ identities: [], times: 0 });
  for (const one of connections) {
    const { credential } = one as Extract<typeof one, { credential: object }>;
    for (const scope of ["a", "b"])
      expect(await credential.getToken(scope)).toEqual({ token: `for ${scope}`, expiresOnTimestamp: 1 });
  }
  expect(loaded.identities).toEqual([
    ["ManagedIdentityCredential", { clientId: "c" }],
    ["DefaultAzureCredential", { managedIdentityClientId: "c" }],
    ["DefaultAzureCredential", {}],
  ]);
});
