import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { uptime } from "node:os";

const ours = /leasefold(\.js)? (.* )?(up|demo)\b/;
const clockSkewMs = 60_000;

/**
 * Whether the process that wrote a state still runs. Process ids are reused, so it must be a process of this user that
 * looks like ours, and the state must not be older than the machine's start.
 */
export function isSupervisor(pid: number, startedAt: string, nowMs = Date.now()): boolean {
  const startedMs = Date.parse(startedAt);
  const machineStartedMs = nowMs - uptime() * 1_000;
  const isPossible = startedMs >= machineStartedMs - clockSkewMs && startedMs <= nowMs + clockSkewMs;
  return isPossible && isOwn(pid) && looksLikeOurs(pid);
}

function isOwn(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

function looksLikeOurs(pid: number): boolean {
  const asked = [
    () => readFileSync(`/proc/${pid}/cmdline`, "utf8"),
    () => execFileSync("ps", ["-o", "args=", "-p", String(pid)], { encoding: "utf8" }),
  ];
  for (const ask of asked) {
    try {
      return ours.test(ask().replaceAll("\0", " "));
    } catch {
      // The system does not offer this, or the process has just ended.
    }
  }
  return true;
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
