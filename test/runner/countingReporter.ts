import type { Reporter, SerializedError, TestModule } from "vitest/node";

/**
 * Prints `N passed, N failed` (and what was skipped) as the very last line, from the runner's own figures.
 * A file that could not be loaded, a hook that failed and an error outside of any test count as failures.
 */
// biome-ignore lint/style/noDefaultExport: vitest loads a reporter by its default export.
export default class CountingReporter implements Reporter {
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
    process.once("exit", () => console.log(line + skipped));
  }
}
