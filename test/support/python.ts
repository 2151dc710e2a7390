import { spawnSync } from "node:child_process";

/** Whether tests with a program in Python run: without one they are skipped, and in CI that is a failure. */
export const hasPython = spawnSync("python3", ["--version"]).status === 0;

if (!hasPython) {
  if (process.env["LEASEFOLD_PYTHON"] === "required") throw new Error("these tests need python3");
  console.log("tests of programs in Python are skipped, because no python3 runs here");
}

/** What the system says of a process, such as `S` or `Z`; empty if there is none. */
export const stateOf = (pid: number): string =>
  spawnSync("ps", ["-o", "stat=", "-p", String(pid)], { encoding: "utf8" }).stdout.trim();
