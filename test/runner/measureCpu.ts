import { afterAll } from "vitest";
import { cpuMs } from "./cpuTime.ts";

declare module "vitest" {
  interface TaskMeta {
    /** Of a file: CPU time from its set-up until its last test has ended, with processes that it started and that have ended. */
    cpuMs?: number;
  }
}

/** Loaded before each file; `countingReporter.ts` prints what it measures. */
const before = cpuMs();
// biome-ignore lint/correctness/noEmptyPattern: the runner reads its first parameter for fixtures, and takes none but a pattern.
afterAll(({}, suite) => {
  suite.file.meta.cpuMs = cpuMs() - before;
});
