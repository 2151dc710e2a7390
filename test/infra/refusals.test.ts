import { describe, expect, test } from "vitest";
import { ruleNames } from "../../scripts/infra/finding.ts";
import type { Fields, Resource } from "../../scripts/infra/json.ts";
import { readFiles, readProject } from "../../scripts/infra/project.ts";
import { refusals } from "../../scripts/infra/rules/refusals.ts";

/** What the rule says of a site with that `siteConfig`. */
function saysOf(siteConfig: Fields): readonly string[] {
  const row = refusals.find(({ rule }) => rule === "refused-site-config");
  const one: Resource = { id: "", type: "Microsoft.Web/sites", name: "a", properties: { siteConfig } };
  return row?.wrong(one, [one], "") ?? [];
}

/** As the service itself listed them, in the threads. */
const verbatim: readonly (readonly [thread: string, refused: string])[] = [
  [
    "Azure/azure-cli#31414",
    "FtpsState, Use32BitWorkerProcess, PreWarmedInstanceCount, NetFrameworkVersion, FunctionsRuntimeScaleMonitoringEnabled",
  ],
  [
    "microsoft/azure-pipelines-tasks#21032",
    "FtpsState, Use32BitWorkerProcess, NetFrameworkVersion, FunctionsRuntimeScaleMonitoringEnabled",
  ],
  ["Azure/terraform-azurerm-avm-res-web-site#283", "LinuxFxVersion"],
  ["Azure/azure-functions-host#10643", "FunctionAppScaleLimit"],
];

describe("refused-site-config", () => {
  test.each(verbatim)("finds each property that the service refused in %s", (_thread, refused) => {
    const names = refused.split(", ").map((name) => name.charAt(0).toLowerCase() + name.slice(1));
    expect(names.map((name) => saysOf({ [name]: true })).filter((says) => says.length !== 1)).toEqual([]);
  });
  test("takes what Microsoft's own sample for Flex Consumption says", () => {
    expect(saysOf({ minTlsVersion: "1.2" })).toEqual([]);
  });
});

test("each refusal has a rule of its own, a code and threads of GitHub", () => {
  const all = [...ruleNames, ...refusals.map(({ rule }) => rule)];
  expect(new Set(all).size).toBe(all.length);
  const threads = refusals.flatMap(({ seen }) => seen);
  expect(threads.filter((one) => !/^[\w.-]+\/[\w.-]+#\d+$/.test(one))).toEqual([]);
  expect(refusals.filter(({ code }) => code === "")).toEqual([]);
});

test("each refusal is about a type that the templates deploy", () => {
  const types = new Set([...readProject(readFiles()).snapshots.values()].flat().map(({ type }) => type));
  expect(refusals.filter(({ on }) => on !== undefined && !types.has(on)).map(({ rule }) => rule)).toEqual([]);
});
