import { constants } from "node:os";

/** The exit codes and their meanings, shown in the help; `edgeOf` returns those of errors. */
export const exitCodes: readonly (readonly [code: number, meaning: string])[] = [
  [0, "done"],
  [1, "the run was cancelled or late; verify or doctor found something wrong"],
  [2, "wrong input or setting, a command too late, output that cannot be written"],
  [3, "not finished: the run has no result yet"],
  [4, "storage is not reachable or refused the call"],
  [5, "the signed-in identity lacks a role"],
  [6, "stored data is damaged or of a newer version"],
  [7, "the calculation failed, in a run or tried here; check: it breaks a law"],
  [8, "the result has gaps, and --allow-gaps was not given"],
  [70, "a bug in Leasefold"],
  [75, "lead: another leads, and --wait was not given"],
  [76, "lead: the lease was lost and the command stopped; else its own exit code"],
  [129, "stopped by SIGHUP: its terminal has closed"],
  [130, "stopped with Ctrl-C"],
  [143, "stopped by SIGTERM"],
];

/** A run was cancelled, or verify, doctor or demo found something wrong. */
export const failed = 1;
export const wrongUsage = 2;
export const calculationFailed = 7;
export const hasGaps = 8;
export const anotherLeads = 75;
export const lostLease = 76;
export const bugExitCode = 70;

/** As shells count: 128 plus the number of the signal that the reason of the abort names, or of SIGINT. */
export function interruptedBy({ reason }: AbortSignal): number {
  const name = reason instanceof Error ? reason.message : "";
  return 128 + (constants.signals[name as NodeJS.Signals] ?? constants.signals.SIGINT);
}

export const exitCodeHelp = (): string =>
  ["Exit codes:", ...exitCodes.map(([code, meaning]) => `  ${String(code).padEnd(4)}${meaning}`)].join("\n");
