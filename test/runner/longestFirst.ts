import { relative } from "node:path";
import { BaseSequencer, type TestSpecification } from "vitest/node";

/** What runs for more than about ten seconds, the longest first: begun last, it would run on alone at the end. */
export const longest = [
  "sim/engine/simulation",
  "sim/engine/mutants/mutants",
  "e2e/up",
  "contract/storage",
  "e2e/engineSteering",
  "e2e/local",
  "packages/sql/test/cases",
  "contract/election",
  "contract/azuriteDifferences",
  "worker/threadPool",
  "chaos/chaos",
  "sim/scale/slowPacks",
  "e2e/liveness",
  "e2e/twoBuilds",
  "e2e/changedCode",
  "e2e/addCalculation",
  "e2e/examples",
  "e2e/work",
  "packages/dashboard/test/browser/app",
  "packages/cli/test/checkCommand",
  "sim/engine/fairness",
  "chaos/electionProcesses",
  "chaos/electionFaults",
  "e2e/installed",
  "infra/compiled",
  "packages/dashboard/test/browser/states",
  "packages/dashboard/test/browser/large",
  "e2e/paging",
  "packages/dashboard/test/browser/journeys",
].map((name) => `${name.startsWith("packages/") ? "" : "test/"}${name}.test.ts`);

/** Files of one project without isolation stay together at the end, because only neighbors share a process. */
const projects = ["e2e", "contract", "sim", "unit-alone", "unit"];

/** Begins with the files known to be long, so that those which wait run beside those which compute. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId, project }: TestSpecification): number => {
      const place = longest.indexOf(relative(project.config.root, moduleId).replaceAll("\\", "/"));
      return place >= 0 ? place : longest.length + projects.indexOf(project.name);
    };
    const sorted = await super.sort(files);
    return sorted.sort((a, b) => rank(a) - rank(b));
  }
}
