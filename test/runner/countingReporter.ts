import type { Reporter, SerializedError, TestModule, TestSpecification } from "vitest/node";
import { cpuMs } from "./cpuTime.ts";
import { deepSeed } from "./deepSeed.ts";

const shown = 10;

/**
 * Prints the seed of what is drawn, with the command that plays it again. At the end come the slowest files and the CPU time of
 * each project, so that the next slow test is seen when it is written, and as the very last line `N passed, N failed` (and what
 * was skipped), from the runner's own figures. A file that could not be loaded, a hook that failed and an error outside of any
 * test count as failures.
 */
// biome-ignore lint/style/noDefaultExport: vitest loads a reporter by its default export.
export default class CountingReporter implements Reporter {
  onTestRunStart(files: readonly TestSpecification[]): void {
    if (!files.some(({ project }) => project.name.startsWith("deep-"))) return;
    const { LEASEFOLD_SEED: seed } = deepSeed;
    console.log(`What is drawn is drawn from ${seed}. Again: LEASEFOLD_SEED=${seed} npm run test:deep\n`);
  }

  onTestRunEnd(modules: readonly TestModule[], errors: readonly SerializedError[]): void {
    const count = { passed: 0, failed: errors.length, skipped: 0, pending: 0 };
    for (const module of modules) {
      const tests = [...module.children.allTests()];
      for (const test of tests) count[test.result().state] += 1;
      // A file that does not load, or whose hooks fail, fails as a whole though none of its tests did.
      const told = tests.some((test) => test.result().state === "failed");
      if (module.state() === "failed" && !told) count.failed += 1;
    }
    const line = `${count.passed} passed, ${count.failed + count.pending} failed`;
    const skipped = count.skipped === 0 ? "" : `, ${count.skipped} skipped`;
    process.once("exit", () => console.log([...timesOf(modules), line + skipped].join("\n")));
  }
}

/** The slowest files by wall time, and CPU time by project and of all processes. */
function timesOf(modules: readonly TestModule[]): string[] {
  const files = modules.map((module) => ({
    project: module.project.name,
    file: module.relativeModuleId,
    wallMs: module.diagnostic().duration,
    cpuMs: module.meta().cpuMs ?? 0,
  }));
  const slowest = files.toSorted((a, b) => b.wallMs - a.wallMs).slice(0, shown);
  const projects = [...Map.groupBy(files, ({ project }) => project)].map(
    ([project, of]) => `${project} ${seconds(of.reduce((sum, one) => sum + one.cpuMs, 0))}`,
  );
  const row = ({ file, wallMs, cpuMs: cpu }: (typeof files)[number]) =>
    `  ${seconds(wallMs).padStart(8)} ${seconds(cpu).padStart(8)}  ${file}`;
  return [
    `slowest files: time, CPU time`,
    ...slowest.map(row),
    `CPU time of tests: ${projects.join(", ")}; of all processes ${seconds(cpuMs())}`,
  ];
}

const seconds = (ms: number): string => `${(ms / 1_000).toFixed(1)} s`;
