import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { electionFrom, fastTakeover } from "../../src/election/settings.ts";
import { ConfigError } from "../../src/engine/model/errors.ts";
import { readHostSettings } from "../../src/engine/model/hostSettings.ts";
import { limits } from "../../src/engine/model/limits.ts";
import { readSettings, settingsSchema } from "../../src/engine/model/settings.ts";

const root = new URL("../../", import.meta.url);
const hostJson = readFileSync(new URL("host.json", root), "utf8");

describe("settings", () => {
  test("defaults are complete and an empty value is no value", () => {
    expect(readSettings({ LEASEFOLD_NAMESPACE: "" })).toMatchObject({
      LEASEFOLD_NAMESPACE: "leasefold",
      LEASEFOLD_LEASE_S: 15,
    });
  });

  test.each([
    ["LEASEFOLD_LEASE_S", "14"],
    ["LEASEFOLD_LEASE_S", "61"],
    ["LEASEFOLD_NAMESPACE", "Upper"],
    ["LEASEFOLD_NAMESPACE", "double--dash"],
    ["LEASEFOLD_WATCH", "yes"],
    ["LEASEFOLD_EARLY_TAKEOVER", "quick"],
    ["LEASEFOLD_LOOP_MS", "soon"],
    ["LEASEFOLD_SCHEDULE", "*/15 * * * *"],
  ])("%s=%s is refused by its name", (name, value) => {
    expect(() => readSettings({ [name]: value })).toThrow(ConfigError);
    expect(() => readSettings({ [name]: value })).toThrow(`${name}=${value}`);
  });
});

test("docs/OPERATIONS.md names every setting there is, with its default, and no other", () => {
  const page = readFileSync(new URL("docs/OPERATIONS.md", root), "utf8");
  const table = /^\| name \| default \|[\s\S]*?\n\n/m.exec(page)?.[0] ?? "";
  const rows = [...table.matchAll(/^\| `(LEASEFOLD_\w+)` \|([^|]*)\|/gm)].map(([, name, value]) => ({
    name: name as string,
    value: /^`(.*)`$/.exec((value ?? "").trim())?.[1],
  }));
  expect(rows.map((row) => row.name).sort()).toEqual(Object.keys(settingsSchema.shape).sort());
  const defaults = readSettings({}) as Readonly<Record<string, unknown>>;
  for (const { name, value } of rows) {
    expect([name, value]).toEqual([name, defaults[name]?.toString()]);
  }
});

describe("host.json and the settings agree", () => {
  const host = readHostSettings(hostJson, {});

  test("a leader's budget ends before the host kills its invocation", () => {
    const election = electionFrom(readSettings({}), host);
    expect(election.budgetMs).toBeLessThan(host.functionTimeoutMs - election.functionMarginMs + 1);
    expect(electionFrom(readSettings({ LEASEFOLD_BUDGET_S: "3000" }), host).budgetMs).toBe(588_000);
  });

  test("a function that ends before a term can begin is refused by its name, with the least that works", () => {
    const of = (functionTimeout: string, settings = {}) =>
      electionFrom(
        readSettings(settings),
        readHostSettings(hostJson, { AzureFunctionsJobHost__functionTimeout: functionTimeout }),
      );
    expect(() => of("00:00:20")).toThrow("functionTimeout of host.json is 20 s: at least 27 s");
    expect(() => of("00:00:26")).toThrow(ConfigError);
    expect(of("00:00:27").budgetMs).toBe(15_000);
    expect(() => of("00:01:00", { LEASEFOLD_LEASE_S: "60" })).toThrow("at least 72 s");
  });

  test("early takeover is on, off or fast, and each is accepted by the relations", () => {
    const of = (value: string) =>
      electionFrom(readSettings({ LEASEFOLD_EARLY_TAKEOVER: value, LEASEFOLD_WATCH: "true" }), host);
    expect(of("").breakAfterMs).toBe(4_000);
    expect(of("true")).toEqual(of(""));
    expect(of("false")).toEqual({ ...of("true"), breakAfterMs: 0 });
    expect(of("fast")).toEqual({ ...of("true"), ...fastTakeover });
  });

  test("a pack's time limit lies well below the function's", () => {
    expect(readSettings({}).LEASEFOLD_PACK_LIMIT_S * 1_000).toBe(limits.packLimitMs);
    expect(limits.packLimitMs).toBeLessThanOrEqual(host.functionTimeoutMs / 2);
  });

  test("the queues are read as plain text, one message at a time, and fail slowly", () => {
    expect(host.queues).toMatchObject({ messageEncoding: "none", batchSize: 1, visibilityTimeoutMs: 30_000 });
  });

  test("the sample of local settings names only settings there are", () => {
    const sample = JSON.parse(readFileSync(new URL("local.settings.sample.json", root), "utf8")) as {
      Values: Record<string, string>;
    };
    const known = [
      ...Object.keys(settingsSchema.shape),
      "FUNCTIONS_WORKER_RUNTIME",
      "AzureWebJobsStorage",
      "DataStorage",
      "AzureFunctionsJobHost__logging__logLevel__Azure.Core",
    ];
    expect(Object.keys(sample.Values).filter((name) => !known.includes(name))).toEqual([]);
    expect(() => readSettings(sample.Values)).not.toThrow();
  });
});
