import { expect, test } from "vitest";
import { isDisabled } from "../../../../src/host/functionListeners.ts";
import { memberEnv } from "../../local/instanceEnv.ts";

test("a function is disabled by the setting that has its name, as on Azure", () => {
  const disabled = (env: Record<string, string>) => ["tick", "work"].filter((name) => isDisabled(name, env));
  expect(disabled({})).toEqual([]);
  expect(disabled({ "AzureWebJobs.tick.Disabled": "true" })).toEqual(["tick"]);
  expect(disabled({ "AzureWebJobs.tick.Disabled": "1", "AzureWebJobs.work.Disabled": "false" })).toEqual([
    "tick",
  ]);
  expect(disabled({ AzureWebJobs_tick_Disabled: "true", AzureWebJobs__work__Disabled: "true" })).toEqual([
    "tick",
  ]);
});

test("a member that does not lead has neither ticks nor wakes, and one that leads has both", () => {
  const functions = ["coordinator", "wake", "worker", "workerUrgent", "workerPoison"];
  const has = (lead: boolean) => {
    const env = memberEnv({ threads: 1, lead, calculations: [], namespace: "n" });
    return functions.filter((name) => !isDisabled(name, env));
  };
  expect(has(false)).toEqual(["worker", "workerUrgent", "workerPoison"]);
  expect(has(true)).toEqual(functions);
});
