import { spawn } from "node:child_process";
import { constants } from "node:os";
import type { Leader } from "../election/api/lead.ts";
import { elapsedMs, readClocks } from "../election/cappedCall.ts";
import { LostLeadership } from "../election/hold/leadership.ts";
import type { Clock } from "../storage/ports.ts";

/** How often it is noted how much confirmed time is left. */
const lookEveryMs = 500;

/**
 * Runs a program while leading and gives its exit code. When no renewal was confirmed in time it gets SIGTERM, and
 * SIGKILL after `graceMs`, which is before the lease can be another's; when storage said that the lease is lost,
 * another may lead already and it gets SIGKILL at once. Signals to this process are passed on; the program then has
 * the same grace, and the lease is kept until it is gone.
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
    readonly passOn: () => NodeJS.Signals | undefined;
  },
): Promise<number> {
  let takeBackKill = (): void => {};
  let takeBackLook = (): void => {};
  let known = { at: readClocks(clock), leftMs: leader.remainingMs() };

  const endWithin = (ms: number, first: NodeJS.Signals | undefined): void => {
    takeBackKill();
    if (first !== undefined && ms > 0) child.kill(first);
    if (ms <= 0) child.kill("SIGKILL");
    else takeBackKill = clock.after(ms, () => child.kill("SIGKILL"));
  };
  const onLost = (): void => {
    takeBackLook();
    const { reason } = leader.signal;
    const isAnothers = reason instanceof LostLeadership && reason.reason === "lost";
    // A process that slept hears of the end late; what it slept is taken off the grace.
    const lateMs = Math.max(0, elapsedMs(known.at, readClocks(clock)) - known.leftMs);
    endWithin(isAnothers ? 0 : options.graceMs - lateMs, "SIGTERM");
  };
  const onInterrupt = (): void => {
    if (!leader.signal.aborted) endWithin(options.graceMs, options.passOn());
  };
  const look = (): void => {
    const leftMs = leader.remainingMs();
    if (leftMs > 0) known = { at: readClocks(clock), leftMs };
    takeBackLook = clock.after(lookEveryMs, look);
  };

  if (leader.signal.aborted) onLost();
  else {
    leader.signal.addEventListener("abort", onLost, { once: true });
    look();
  }
  if (options.interrupt.aborted) onInterrupt();
  else options.interrupt.addEventListener("abort", onInterrupt, { once: true });
  try {
    return await child.ended;
  } finally {
    takeBackKill();
    takeBackLook();
    leader.signal.removeEventListener("abort", onLost);
    options.interrupt.removeEventListener("abort", onInterrupt);
  }
}

/** Another program, run in the foreground of this one. */
export interface Child {
  /** Resolves when it is gone, with its exit code as a shell would give it. Never rejects. */
  readonly ended: Promise<number>;
  kill(signal: NodeJS.Signals): void;
}

export type StartChild = (command: readonly string[], env: Readonly<Record<string, string>>) => Child;

/** As shells tell a command that is not there, and one that cannot be run. */
const notFound = 127;
const notRunnable = 126;

/**
 * Starts it with this process's own input and output. It does not outlive an exit of this process that this process
 * knows of; a SIGKILL of this process leaves it running.
 */
export const startChild: StartChild = ([file = "", ...args], env) => {
  const child = spawn(file, args, { stdio: "inherit", env: { ...process.env, ...env } });
  const last = () => void child.kill("SIGKILL");
  process.once("exit", last);
  const ended = new Promise<number>((resolve) => {
    child.once("error", ({ code }: NodeJS.ErrnoException) =>
      resolve(code === "ENOENT" ? notFound : notRunnable),
    );
    child.once("exit", (code, signal) =>
      resolve(code ?? 128 + (signal === null ? 0 : constants.signals[signal])),
    );
  });
  return {
    ended: ended.finally(() => process.removeListener("exit", last)),
    kill: (signal) => void child.kill(signal),
  };
};
