import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { differencesOf, sharedSettings } from "../../src/app/functions/sharedSettings.ts";
import { readHostSettings } from "../../src/engine/model/hostSettings.ts";
import { readSettings } from "../../src/engine/model/settings.ts";

const hostJson = readFileSync(new URL("../../host.json", import.meta.url), "utf8");
const values = (env: Record<string, string>, calculations: readonly string[] = []) =>
  sharedSettings(readSettings(env), readHostSettings(hostJson, env), calculations);
const plain = values({});

test("two apps with the same settings agree, whatever each instance has for itself", () => {
  const own = {
    LEASEFOLD_INSTANCE: "two",
    LEASEFOLD_REGION: "north",
    LEASEFOLD_THREADS: "4",
    LEASEFOLD_THREAD_MEMORY_MB: "1024",
    LEASEFOLD_SCHEDULE: "30 * * * * *",
    LEASEFOLD_WATCH: "true",
    LEASEFOLD_CALCULATIONS: "/elsewhere/pi.js",
    AzureFunctionsJobHost__extensions__queues__batchSize: "2",
  };
  expect(differencesOf(plain, values(own))).toBeUndefined();
});

test.each<[string, Record<string, string>, boolean, string]>([
  [
    "KEEP_DAYS",
    { LEASEFOLD_KEEP_DAYS: "7" },
    true,
    "LEASEFOLD_KEEP_DAYS is 30 here and 7 there (old runs go",
  ],
  [
    "PACK_LIMIT_S",
    { LEASEFOLD_PACK_LIMIT_S: "60" },
    false,
    "LEASEFOLD_PACK_LIMIT_S is 300 here and 60 there",
  ],
  ["LEASE_S", { LEASEFOLD_LEASE_S: "20" }, false, "LEASEFOLD_LEASE_S is 15 here and 20 there"],
  ["BUDGET_S", { LEASEFOLD_BUDGET_S: "100" }, false, "LEASEFOLD_BUDGET_S is 300 here and 100 there"],
  [
    "EARLY_TAKEOVER",
    { LEASEFOLD_EARLY_TAKEOVER: "false" },
    false,
    "LEASEFOLD_EARLY_TAKEOVER is true here and false",
  ],
  ["LOOP_MS", { LEASEFOLD_LOOP_MS: "500" }, false, "LEASEFOLD_LOOP_MS is 2000 here and 500 there"],
  [
    "LOOP_FAST_MS",
    { LEASEFOLD_LOOP_FAST_MS: "50" },
    false,
    "LEASEFOLD_LOOP_FAST_MS is 100 here and 50 there",
  ],
  [
    "queue encoding",
    { AzureFunctionsJobHost__extensions__queues__messageEncoding: "base64" },
    true,
    "extensions.queues.messageEncoding is none here and base64 there",
  ],
  [
    "deliveries",
    { AzureFunctionsJobHost__extensions__queues__maxDequeueCount: "3" },
    false,
    "extensions.queues.maxDequeueCount is 5 here and 3 there",
  ],
])("another %s is named with both values", (_name, env, unsafe, says) => {
  const found = differencesOf(plain, values(env));
  expect(found).toMatchObject({ unsafe });
  expect(found?.message).toContain(says);
});

test("a calculation that is missing or has other code is unsafe, its order is nothing", () => {
  const both = values({}, ["pi sha256:1", "sum sha256:2"]);
  expect(differencesOf(both, values({}, ["sum sha256:2", "pi sha256:1"]))).toBeUndefined();
  expect(differencesOf(both, plain)).toMatchObject({ unsafe: true });
  const message = differencesOf(values({}, ["pi sha256:1"]), values({}, ["pi sha256:9"]))?.message;
  expect(message).toContain("LEASEFOLD_CALCULATIONS is pi sha256:1 here and pi sha256:9 there");
});

test("several differences are one line", () => {
  const message = differencesOf(
    plain,
    values({ LEASEFOLD_KEEP_DAYS: "0", LEASEFOLD_LEASE_S: "60" }),
  )?.message;
  expect(message?.split("; ")).toHaveLength(2);
  expect(message).not.toContain("\n");
});

test("what only one of two versions knows is no difference, and a long value is cut", () => {
  expect(differencesOf(plain, { LEASEFOLD_NEW: "1", app: "x" })).toBeUndefined();
  expect(differencesOf(plain, {})).toBeUndefined();
  const long = differencesOf(plain, { LEASEFOLD_LEASE_S: "9".repeat(9_000) });
  expect(long?.message.length).toBeLessThan(400);
  const many = Array.from({ length: 100 }, (_, index) => `calculation-${index} sha256:0123456789ab`);
  expect(values({}, many)["LEASEFOLD_CALCULATIONS"]?.length).toBeLessThanOrEqual(200);
  // What was told is what is compared: one cut alike on both sides agrees with itself.
  expect(differencesOf(values({}, many), values({}, many))).toBeUndefined();
});
