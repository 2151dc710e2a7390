import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { uptime } from "node:os";

const ours = /leasefold(\.js)? (.* )?(up|demo)\b/;
const clockSkewMs = 60_000;

interface Written {
  readonly supervisorPid: number;
  /** As `startOf` told of the process; absent in states of older versions and where the system does not tell. */
  readonly supervisorStart?: string | undefined;
  readonly startedAt: string;
}

/**
 * Whether the process that wrote a state still runs. Process ids are reused, and in a container every start has 1: it must
 * be a process of this user that looks like ours and started when the writer did. Only where that is not known, the times
 * of a clock that may have been set since must do: the state must not be older than the machine's start.
 */
export function isSupervisor({ supervisorPid: pid, supervisorStart, startedAt }: Written): boolean {
  const start = startOf(pid);
  const isKnown = supervisorStart !== undefined && start !== undefined;
  if (isKnown ? start !== supervisorStart : !isPossible(Date.parse(startedAt))) return false;
  return isOwn(pid) && looksLikeOurs(pid);
}

function isPossible(startedMs: number): boolean {
  const nowMs = Date.now();
  const machineStartedMs = nowMs - uptime() * 1_000;
  return startedMs >= machineStartedMs - clockSkewMs && startedMs <= nowMs + clockSkewMs;
}

function isOwn(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

/** When a process started, in the system's own words; undefined if there is none or the system does not tell. */
export const startOf = (pid: number): string | undefined =>
  firstAnswer([
    // Field 22, in clock ticks since the machine's start; the name before it may hold spaces and parentheses.
    () =>
      readFileSync(`/proc/${pid}/stat`, "utf8")
        .replace(/^.*\) /s, "")
        .split(" ")[19],
    () => askPs("lstart=", pid),
  ]);

function looksLikeOurs(pid: number): boolean {
  const command = firstAnswer([
    () => readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " "),
    () => askPs("args=", pid),
  ]);
  return command === undefined || ours.test(command);
}

const askPs = (what: string, pid: number): string =>
  execFileSync("ps", ["-o", what, "-p", String(pid)], { encoding: "utf8", stdio: "pipe" }).trim();

function firstAnswer(ways: readonly (() => string | undefined)[]): string | undefined {
  for (const ask of ways) {
    try {
      return ask();
    } catch {
      // The system does not offer this, or the process has just ended.
    }
  }
  return undefined;
}

/** Whether there is a process of this id, whoever owns it. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as { code?: unknown }).code === "EPERM";
  }
}
