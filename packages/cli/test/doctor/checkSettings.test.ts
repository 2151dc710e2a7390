import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { readSettings } from "../../../../src/engine/model/settings.ts";
import { checkHost } from "../../doctor/checkHost.ts";
import { checkSettings } from "../../doctor/checkSettings.ts";

const states = (findings: readonly { state: string; what: string }[]) =>
  findings.map(({ state, what }) => `${state}: ${what}`);

const healthy = { LEASEFOLD_SCHEDULE: "0 * * * * *", AzureWebJobsStorage: "x", DataStorage: "x" };

test("a shell without settings and an app with all settings have no findings", () => {
  expect(states(checkSettings({ HOME: "/" }, false).findings)).toEqual(["ok: all are at their defaults"]);
  expect(states(checkSettings(healthy, true).findings)).toEqual(["ok: LEASEFOLD_SCHEDULE"]);
});

test.each([
  [{ LEASEFOLD_LOOPMS: "5" }, "warning", "LEASEFOLD_LOOPMS is no setting", "is it LEASEFOLD_LOOP_MS?"],
  [{ LEASEFOLD_TEMPERATURE: "5" }, "warning", "LEASEFOLD_TEMPERATURE is no setting", "the settings are"],
  [{ LEASEFOLD_LEASE_S: "5" }, "wrong", "LEASEFOLD_LEASE_S=5", "give a value"],
  [
    { LEASEFOLD_ENV: "QUOTES_URL, QUOTES_TOKEN", QUOTES_URL: "https://quotes.test" },
    "warning",
    "LEASEFOLD_ENV names QUOTES_TOKEN, which is not set",
    "keyVaultReferences",
  ],
  [
    { DataStorage__blobServiceUri: "https://a.blob.core.windows.net" },
    "wrong",
    "DataStorage__queueServiceUri is not set",
    "queue.core",
  ],
  [
    {
      DataStorage__blobServiceUri: "http://a.blob.core.windows.net",
      DataStorage__queueServiceUri: "https://a.queue.core.windows.net",
    },
    "wrong",
    "DataStorage__blobServiceUri gets no token: an identity needs https",
    "https://ACCOUNT.blob.core.windows.net",
  ],
  [
    {
      DataStorage__blobServiceUri: "https://a.blob.core.windows.net",
      DataStorage__queueServiceUri: "https://a.queue.core.windows.net.example.org",
    },
    "wrong",
    "a.queue.core.windows.net.example.org is no queue endpoint",
    "https://ACCOUNT.queue.core.windows.net",
  ],
  [
    { DataStorage: "x", DataStorage__blobServiceUri: "https://a.blob.core.windows.net" },
    "wrong",
    "both set",
    "remove DataStorage",
  ],
  [
    {
      DataStorage__blobServiceUri: "https://a.blob.core.windows.net",
      DataStorage__queueServiceUri: "https://a.queue.core.windows.net",
      DataStorage__credential: "key",
    },
    "wrong",
    'DataStorage__credential is "key"',
    "managedidentity",
  ],
])("settings %j are reported", (env, state, what, cure) => {
  const { findings } = checkSettings(env, false);
  expect(findings).toHaveLength(1);
  expect(findings[0]).toMatchObject({
    state,
    what: expect.stringContaining(what),
    cure: expect.stringContaining(cure),
  });
});

test("an empty AzureWebJobsStorage beside the settings of an identity is wrong", () => {
  const env = { ...healthy, AzureWebJobsStorage__accountName: "x" };
  expect(states(checkSettings({ ...env, AzureWebJobsStorage: "" }, true).findings)).toEqual([
    "wrong: AzureWebJobsStorage is empty, beside AzureWebJobsStorage__ settings",
  ]);
  const { AzureWebJobsStorage: _, ...without } = env;
  expect(checkSettings(without, true).findings[0]?.state).toBe("ok");
});

test.each(["LEASEFOLD_SCHEDULE", "AzureWebJobsStorage", "DataStorage"])("an app needs %s", (name) => {
  const { findings } = checkSettings({ ...healthy, [name]: "" }, true);
  expect(states(findings)).toEqual([`wrong: ${name} is not set`]);
  expect(checkSettings({ ...healthy, [name]: "" }, false).findings[0]?.state).toBe("ok");
});

const ours = readFileSync(new URL("../../../../host.json", import.meta.url), "utf8");
const host = (change: (file: Record<string, never>) => object, env = {}) =>
  states(
    checkHost(JSON.stringify({ ...JSON.parse(ours), ...change(JSON.parse(ours)) }), env, readSettings(env)),
  );
const queues = (change: object) => (file: { extensions?: { queues?: object } }) => ({
  extensions: { ...file.extensions, queues: { ...file.extensions?.queues, ...change } },
});

test("the host.json of this repository has no findings, and overrides are named", () => {
  expect(host(() => ({}))).toEqual(["ok: functionTimeout 600 s, packs at once 2"]);
  const env = { AzureFunctionsJobHost__extensions__queues__newBatchThreshold: "3" };
  expect(host(() => ({}), env)).toEqual([
    "ok: functionTimeout 600 s, packs at once 4",
    "ok: host.json is overridden by AzureFunctionsJobHost__extensions__queues__newBatchThreshold",
  ]);
});

test.each([
  ["wrong: messageEncoding is base64", queues({ messageEncoding: "base64" }), {}],
  ["warning: batchSize is 16", queues({ batchSize: 16 }), {}],
  ["warning: maxPollingInterval is 60 s", queues({ maxPollingInterval: "00:01:00" }), {}],
  ["warning: functionTimeout is -1, no limit", () => ({ functionTimeout: "-1" }), {}],
  [
    "warning: singleton.listenerLockPeriod is 00:00:15",
    () => ({ singleton: { listenerLockPeriod: "00:00:15" } }),
    {},
  ],
  ["wrong: LEASEFOLD_PACK_LIMIT_S=300: must be at most half", () => ({ functionTimeout: "00:06:00" }), {}],
  [
    "warning: LEASEFOLD_BUDGET_S is 900 s and functionTimeout 600 s",
    () => ({}),
    { LEASEFOLD_BUDGET_S: "900" },
  ],
  ["wrong: extensions.queues.batchSize=99", queues({ batchSize: 99 }), {}],
])("%s", (what, change, env) => {
  expect(host(change as never, env)).toEqual([expect.stringContaining(what)]);
});
