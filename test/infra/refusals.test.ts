import { describe, expect, test } from "vitest";
import { deployment, parametersIn } from "../../scripts/infra/evaluate/deployment.ts";
import { at, type Fields, Resource } from "../../scripts/infra/evaluate/values.ts";
import { readFiles, readProject } from "../../scripts/infra/project.ts";
import { races, refusals } from "../../scripts/infra/refusals/refusals.ts";
import { ruleNames } from "../../scripts/infra/syntax.ts";

const files = readFiles();
const { project } = await readProject(files);
const given = parametersIn(files.get("infra/one-region.parameters.json") ?? "");
const page = files.get("docs/DEPLOY.md") ?? "";

/** What the rule says of a site with that `siteConfig`. */
function saysOf(siteConfig: Fields): readonly string[] {
  const row = refusals.find(({ rule }) => rule === "refused-site-config");
  const from = { existing: false, absent: false, file: "" };
  const one = new Resource("Microsoft.Web/sites@2024-11-01", { name: "a", properties: { siteConfig } }, from);
  return (row?.wrong(one, { all: [one], given: {}, page }) ?? []).map(([says]) => says);
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
  const rows = [...refusals, ...races];
  expect(new Set(rows.map(({ rule }) => rule)).size).toBe(rows.length);
  expect(new Set(ruleNames).size).toBe(ruleNames.length);
  const threads = rows.flatMap(({ seen }) => seen);
  expect(threads.filter((one) => !/^[\w.-]+\/[\w.-]+#\d+$/.test(one))).toEqual([]);
  expect(rows.filter(({ code }) => code === "")).toEqual([]);
});

test("each refusal is about a type that the templates deploy", () => {
  const more: Fields = { privateNetwork: true, alertEmail: "a@example.org", workerImage: "image" };
  const types = new Set([
    ...deployment(project, { ...given, ...more }).map(({ type }) => type),
    ...deployment(project, { repository: "o/n" }, "infra/bootstrap.bicep").map(({ type }) => type),
  ]);
  const idle = [...refusals, ...races].filter(({ on }) => on !== "*" && !types.has(on));
  expect(idle.map(({ rule }) => rule)).toEqual([]);
});

test("the bootstrap federates the subject that a repository has, in the old form and in the new one", () => {
  const subjects = (parameters: Fields) =>
    deployment(project, { repository: "o/n", ...parameters }, "infra/bootstrap.bicep")
      .map(({ body }) => at(body, "properties", "subject"))
      .filter((subject) => subject !== undefined);
  expect(subjects({})).toEqual(["repo:o/n:environment:production", "repo:o/n:environment:preview"]);
  // The prefix of Azure/azure-dev#9382.
  expect(subjects({ subjectPrefix: "repo:vhvb1989@24213737/ppconfig@1323153730" })).toEqual([
    "repo:vhvb1989@24213737/ppconfig@1323153730:environment:production",
    "repo:vhvb1989@24213737/ppconfig@1323153730:environment:preview",
  ]);
});
