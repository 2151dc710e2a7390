import { spawn } from "node:child_process";
import { constants } from "node:os";
import type { Leader } from "../../../src/election/api/lead.ts";
import { elapsedMs, readClocks } from "../../../src/election/cappedCall.ts";
import { LostLeadership } from "../../../src/election/hold/leadership.ts";
import type { Clock } from "../../../src/engine/storage/ports.ts";
import { systemReason } from "../options.ts";

/** How often the confirmed remaining time is recorded. */
const recordEveryMs = 500;

/**
 * Runs a program while leading and returns its exit code. If no renewal is confirmed in time, the program gets SIGTERM,
 * and SIGKILL after `graceMs`, which is before another can acquire the lease. If storage reports the lease as lost,
 * another may lead already and it gets SIGKILL at once. Signals to this process are forwarded; the program then has
 * the same grace, and the lease is held until it has ended.
 *
 * Not promised: anything while this process does not run. If it is stopped (SIGSTOP, a suspended machine) or killed
 * with SIGKILL, nobody stops the program; and only the program itself is stopped, not what it has started.
 */
export async function runWhileLeading(
  clock: Clock,
  leader: Pick<Leader, "signal" | "remainingMs">,
  child: Child,
  options: {
    readonly graceMs: number;
    readonly interrupt: AbortSignal;
    /** The signal to forward after an interrupt, if the program does not get it anyway. */
    readonly forwarded: () => NodeJS.Signals | undefined;
  },
): Promise<number> {
  let cancelKill = (): void => {};
  let cancelRecord = (): void => {};
  let known = { at: readClocks(clock), remainingMs: leader.remainingMs() };

  const endWithin = (ms: number, first: NodeJS.Signals | undefined): void => {
    cancelKill();
    if (first !== undefined && ms > 0) child.kill(first);
    if (ms <= 0) child.kill("SIGKILL");
    else cancelKill = clock.after(ms, () => child.kill("SIGKILL"));
  };
  const onLost = (): void => {
    cancelRecord();
    const { reason } = leader.signal;
    const isLost = reason instanceof LostLeadership && reason.reason === "lost";
    // A process that was suspended learns of the end late; that delay reduces the grace.
    const delayMs = Math.max(0, elapsedMs(known.at, readClocks(clock)) - known.remainingMs);
    endWithin(isLost ? 0 : options.graceMs - delayMs, "SIGTERM");
  };
  const onInterrupt = (): void => {
    if (!leader.signal.aborted) endWithin(options.graceMs, options.forwarded());
  };
  const record = (): void => {
    const remainingMs = leader.remainingMs();
    if (remainingMs > 0) known = { at: readClocks(clock), remainingMs };
    cancelRecord = clock.after(recordEveryMs, record);
  };

  if (leader.signal.aborted) onLost();
  else {
    leader.signal.addEventListener("abort", onLost, { once: true });
    record();
  }
  if (options.interrupt.aborted) onInterrupt();
  else options.interrupt.addEventListener("abort", onInterrupt, { once: true });
  try {
    return await child.ended;
  } finally {
    cancelKill();
    cancelRecord();
    leader.signal.removeEventListener("abort", onLost);
    options.interrupt.removeEventListener("abort", onInterrupt);
  }
}

/** Another program in the foreground of this one. */
export interface Child {
  /** Resolves with its exit code as a shell returns it. Never rejects. */
  readonly ended: Promise<number>;
  kill(signal: NodeJS.Signals): void;
}

/** `onError` gets the reason why the program did not start. */
export type StartChild = (
  command: readonly string[],
  env: Readonly<Record<string, string>>,
  onError: (why: string) => void,
) => Child;

/** The exit codes of shells. */
const notFound = 127;
const notRunnable = 126;

/** Starts a program with this process's own input and output. It ends with this process, except after a SIGKILL of it. */
export const startChild: StartChild = ([file = "", ...args], env, onError) => {
  const child = spawn(file, args, { stdio: "inherit", env: { ...process.env, ...env } });
  const onExit = () => void child.kill("SIGKILL");
  process.once("exit", onExit);
  const ended = new Promise<number>((resolve) => {
    child.once("error", (error: NodeJS.ErrnoException) => {
      onError(`cannot run ${file}: ${systemReason(error)}`);
      resolve(error.code === "ENOENT" ? notFound : notRunnable);
    });
    child.once("exit", (code, signal) =>
      resolve(code ?? 128 + (signal === null ? 0 : constants.signals[signal])),
    );
  });
  return {
    ended: ended.finally(() => process.removeListener("exit", onExit)),
    kill: (signal) => void child.kill(signal),
  };
};
