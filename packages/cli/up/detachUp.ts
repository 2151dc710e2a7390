import { spawn } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { ConfigError } from "../../../src/engine/model/errors.ts";
import type { Cli, Session } from "../cli.ts";
import { findAppDir } from "../local/embedded.ts";
import { type LocalFile, localFilePath, logFileOf, readLocalFile } from "../local/localFile.ts";
import { createPrivate } from "../local/privateFile.ts";
import { addressLines } from "../render/instances.ts";
import { duration } from "../render/text.ts";

const readyMs = 60_000;
const pollMs = 50;

/**
 * Runs the same `up` in a process that outlives this one and its terminal, and waits until all instances are ready. Its
 * output goes to a log file beside the state file.
 */
export async function detachUp(
  session: Session,
  args: readonly string[],
  data: string | undefined,
  next: string,
): Promise<void> {
  const { cli } = session;
  const startedMs = cli.clock.monotonicMs();
  const stateFile = await localFilePath(cli.env, cli.folder);
  const logFile = logFileOf(stateFile);
  const log = await createPrivate(logFile);
  const child = spawn(process.execPath, [join(findAppDir(), "bin", "leasefold.js"), ...args], {
    cwd: cli.folder,
    env: cli.env,
    detached: true,
    windowsHide: true,
    stdio: ["ignore", log.fd, log.fd],
  });
  await log.close();
  const ended = new AbortController();
  child.once("exit", () => ended.abort()).once("error", () => ended.abort());

  const local = await untilReady(cli, stateFile, child.pid, ended.signal);
  if (local === undefined) {
    if (!ended.signal.aborted) child.kill("SIGTERM");
    const last = (await readFile(logFile, "utf8")).trim().split("\n").at(-1) ?? "";
    const why = last.replace(/^leasefold: /, "") || `not ready after ${readyMs / 1_000} s`;
    throw new ConfigError("not-up", `the instances did not start: ${why}; their log: ${logFile}`);
  }
  child.unref();
  if (session.json()) return await session.printJson({ instances: local.instances });
  for (const line of addressLines(local, data)) await session.print(line);
  const took = duration((cli.clock.monotonicMs() - startedMs) / 1_000);
  await session.print(`ready in ${took}, in the background; "leasefold down" stops them`);
  await session.print(`log  ${logFile}, which "leasefold logs --instances" shows`);
  await session.print(`now: ${next}`);
}

/** Undefined if the process ended or was not ready in time, or after Ctrl-C. */
async function untilReady(
  { clock, signal }: Cli,
  stateFile: string,
  pid: number | undefined,
  ended: AbortSignal,
): Promise<LocalFile | undefined> {
  const untilMs = clock.monotonicMs() + readyMs;
  while (!ended.aborted && !signal.aborted && clock.monotonicMs() < untilMs) {
    const found = await readLocalFile(stateFile);
    if (found.kind === "found" && found.local.supervisorPid === pid) return found.local;
    await clock.sleep(pollMs, signal);
  }
  return undefined;
}
