import { describe, expect, test } from "vitest";
import { checkProject, staleSnapshots } from "../../scripts/infra/check.ts";
import { type Compiled, compile, findCompiler } from "../../scripts/infra/compiler.ts";
import { lineOf } from "../../scripts/infra/finding.ts";
import { readFiles, readProject } from "../../scripts/infra/project.ts";
import { compiledPlants } from "./plants.ts";

const compiler = findCompiler();
if (compiler === undefined && process.env["LEASEFOLD_BICEP"] === "required")
  throw new Error("these tests need the Bicep compiler: .ci/bicep gets it");
if (compiler === undefined)
  console.log("There is no Bicep compiler (.ci/bicep gets it), so its tests are skipped.");

const files = readFiles();
const nothing: Compiled = { told: [], templates: new Map(), snapshots: new Map() };

describe.skipIf(compiler === undefined)("Azure's compiler", async () => {
  // The body of a skipped group runs as well.
  const { told, templates, snapshots } = compiler === undefined ? nothing : await compile(compiler, files);
  const project = readProject(files, templates);

  test("says nothing against the templates, their format and their parameter files", () => {
    expect(told).toEqual([]);
  });

  test("deploys what the committed snapshots hold", () => {
    expect(staleSnapshots(files, snapshots)).toEqual([]);
  });

  test("makes templates in which no rule finds anything", () => {
    expect(checkProject(project).map(lineOf)).toEqual([]);
  });

  test.each(compiledPlants)("$rule in $what is found", ({ rule, says, plant }) => {
    const found = checkProject(plant(project)).filter((one) => one.rule === rule);
    expect(found.map((one) => one.says)).toContainEqual(expect.stringMatching(says));
  });

  test("tells mistakes in templates, the format and parameter files, and a snapshot that is not what is deployed", async () => {
    const planted = new Map(files);
    const plant = (file: string, from: string, to: string) => {
      const text = planted.get(file) ?? "";
      expect(text).toContain(from);
      planted.set(
        file,
        text.replace(from, () => to),
      );
    };
    plant("infra/modules/dataStorage.bicep", "allowSharedKeyAccess: false", "allowSharedKeyAcces: false");
    plant("infra/modules/network.bicep", "param tags object", "param  tags object");
    plant("infra/two-regions.bicepparam", "'swedencentral'", "'polandcentral'");
    plant("infra/minimal.bicepparam", "param keepDays = 0", "param keepDays = 7");
    plant(
      "infra/bootstrap.bicep",
      "targetScope = 'resourceGroup'",
      "targetScope = 'resourceGroup'\n\nvar spare = 1",
    );
    const again = await compile(compiler ?? "", planted);
    const said = (text: string | RegExp) => expect(again.told).toContainEqual(expect.stringMatching(text));
    said(/^infra\/modules\/dataStorage\.bicep:\d+:\d+ Warning BCP089: .*Did you mean "allowSharedKeyAccess"/);
    said("infra/modules/network.bicep: run: bicep format");
    said(/^infra\/two-regions\.bicepparam:\d+:\d+ Error BCP088: .*polandcentral/);
    said(/^infra\/bootstrap\.bicep:\d+:\d+ Warning no-unused-vars/);
    expect(staleSnapshots(files, again.snapshots)).toContain("infra/minimal.snapshot.json");
    expect(staleSnapshots(files, again.snapshots)).toContain("infra/two-regions.snapshot.json");
  });

  test("ends a deployment whose parameters do not fit each other, and says what is wrong", async () => {
    const others = [...files].filter(
      ([file]) => !/\.bicepparam$/.test(file) && file !== "infra/bootstrap.bicep",
    );
    const planted = new Map(others).set(
      "infra/main.bicepparam",
      `using 'main.bicep'
param environmentName = 'My_Dev'
param namespace = 'a--b'
param regions = [
  { name: 'northeurope', short: 'NE' }
  { name: 'northeurope', short: 'NE' }
]
param zoneRedundant = true
param alwaysReady = [{ name: 'http', instanceCount: 1 }]
param settings = { LEASEFOLD_SCHEDULE: '*/15 * * * *' }
`,
    );
    const { told } = await compile(compiler ?? "", planted);
    const refusal = told.find(
      (line) => line.startsWith("infra/main.bicepparam: ") && line.includes("environmentName"),
    );
    for (const said of [
      "environmentName becomes part of names",
      "regions: use lower-case letters and digits in short",
      "namespace: use lower-case letters, digits and single dashes",
      "regions: a name is there twice",
      "regions: a short name is there twice",
      "alwaysReady: over zones at least 2 of each",
      "LEASEFOLD_SCHEDULE: six fields",
    ])
      expect(refusal).toContain(said);
  });
});
