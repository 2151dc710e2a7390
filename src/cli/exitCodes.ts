/** The exit codes and their meanings, shown in the help; `edgeOf` returns those of errors. */
export const exitCodes: readonly (readonly [code: number, meaning: string])[] = [
  [0, "done"],
  [1, "the run failed or was cancelled; verify or doctor found something wrong"],
  [2, "wrong input, a wrong setting, or a command that comes too late"],
  [3, "not finished: the run has no result, or none yet"],
  [4, "storage is not reachable or refused the call"],
  [5, "the signed-in identity lacks a role"],
  [6, "stored data is damaged or of a newer version"],
  [7, "a calculation failed; check: it breaks a law"],
  [70, "a bug in Leasefold"],
  [75, "lead: another leads, and --wait was not given"],
  [76, "lead: the lease was lost and the command stopped; else its own exit code"],
  [130, "stopped with Ctrl-C"],
];

/** A run failed, or verify, doctor or demo found something wrong. */
export const failed = 1;
export const wrongUsage = 2;
export const calculationFailed = 7;
export const anotherLeads = 75;
export const lostLease = 76;
export const interrupted = 130;

export const exitCodeHelp = (): string =>
  ["Exit codes:", ...exitCodes.map(([code, meaning]) => `  ${String(code).padEnd(4)}${meaning}`)].join("\n");
