import { type ChildProcess, spawn } from "node:child_process";
import type { LocalFile } from "../../packages/cli/local/localFile.ts";
import { connectionStringOf, newAccount } from "../../packages/cli/local/storageAccount.ts";

/** A process that looks like one of `leasefold up` and does nothing. Whoever starts it ends it. */
export const standInSupervisor = (): ChildProcess =>
  spawn(process.execPath, ["-e", "setTimeout(() => {}, 60_000)", "leasefold.js", "up"], { stdio: "ignore" });

/** The state of one instance that nobody runs. */
export const localFileOf = (supervisorPid: number, change: Partial<LocalFile> = {}): LocalFile => ({
  v: 1,
  connectionString: connectionStringOf(newAccount(), 10_000, 10_001),
  functionKey: "key",
  namespace: "leasefold",
  supervisorPid,
  instances: [{ name: "node-1", httpUrl: "http://127.0.0.1:7071" }],
  startedAt: new Date().toISOString(),
  ...change,
});
