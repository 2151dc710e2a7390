import type { Clock } from "../../../src/engine/storage/ports.ts";
import type { HeldMessage } from "../../../src/host/instanceMessages.ts";

/** The timed rules of supervision: the pause before a restart, and the end of an instance that blocks. */

/** Pause before the first start after an end; each further end in a row doubles it, up to the longest. */
const firstPauseMs = 1_000;
const longestPauseMs = 30_000;
/** After so long a run the ends before it no longer count. */
const calmMs = 60_000;

/** An instance that ended by itself and does not run yet. */
export interface Down {
  readonly reason: string;
  /** Ends in a row, the first included. */
  readonly ends: number;
}

/** Counts an instance's ends. It is always started again, because what ended it may be gone by then. */
export function makeRestarts(clock: Pick<Clock, "monotonicMs">) {
  let down: Down | undefined;
  let ends = 0;
  let runsSinceMs: number | undefined;
  return {
    /** Set from an end until it runs again. */
    get down(): Down | undefined {
      return down;
    },
    runs() {
      down = undefined;
      runsSinceMs = clock.monotonicMs();
    },
    /** Gives the pause before the next start, in ms. One that was blocked has not run, however long that was. */
    ended(reason: string, { blocked = false } = {}): number {
      const calm = !blocked && runsSinceMs !== undefined && clock.monotonicMs() - runsSinceMs >= calmMs;
      runsSinceMs = undefined;
      ends = calm ? 1 : ends + 1;
      down = { reason, ends };
      return Math.min(longestPauseMs, firstPauseMs * 2 ** (ends - 1));
    },
  };
}

/** Time between a timeout and the end of the process (azure-webjobs-sdk, TimeoutAttribute). */
const graceMs = 2_000;

/**
 * Times invocations from outside the instance, since user code may block its event loop. When one exceeds
 * `functionTimeout`, the supervisor must end the whole process, as the real host does: Node cannot stop an invocation.
 */
export function makeTimeoutWatch(
  functionTimeoutMs: number | null,
  clock: Clock,
  onTimeout: (functionName: string, invocation: string) => void,
) {
  /** By invocation: how to end its time. */
  const running = new Map<string, () => void>();
  return {
    started(invocation: string, functionName: string): void {
      if (functionTimeoutMs === null) return;
      running.set(
        invocation,
        clock.after(functionTimeoutMs + graceMs, () => onTimeout(functionName, invocation)),
      );
    },
    ended(invocation: string): void {
      running.get(invocation)?.();
      running.delete(invocation);
    },
    clear(): void {
      for (const cancel of running.values()) cancel();
      running.clear();
    },
  };
}

/** The real host ends with the third death of a worker within so long (WorkerRestartThreshold of Azure/azure-functions-host). */
const deathsMax = 3;
const deathsWithinMs = 30 * 60_000;

/**
 * The messages that run in an instance's process, and what becomes of them when it ends by itself. In the real host a worker's
 * death fails its invocations, so that their messages come back after `visibilityTimeout`. They stay hidden for the rest of their ten
 * minutes where the host ends as well: at the third death within half an hour. After a timeout only that invocation fails; others count
 * as running until their own.
 */
export function makeHeldMessages(clock: Pick<Clock, "monotonicMs">) {
  const running = new Map<string, HeldMessage>();
  let deathsMs: number[] = [];
  return {
    started(invocation: string, held: HeldMessage | undefined): void {
      if (held !== undefined) running.set(invocation, held);
    },
    renewed(held: HeldMessage): void {
      for (const [invocation, { queue, id }] of running)
        if (queue === held.queue && id === held.id) running.set(invocation, held);
    },
    ended: (invocation: string) => void running.delete(invocation),
    /** The process ended by itself, or because that invocation took too long: the messages that come back. */
    died(timedOut?: string): readonly HeldMessage[] {
      const nowMs = clock.monotonicMs();
      const failed = [...running].filter(([invocation]) => timedOut === undefined || invocation === timedOut);
      running.clear();
      deathsMs = [...deathsMs.filter((ms) => nowMs - ms < deathsWithinMs), nowMs];
      if (deathsMs.length < deathsMax) return failed.map(([, held]) => held);
      deathsMs = [];
      return [];
    },
    /** Its end was asked for: it ends as an instance does. */
    clear: () => running.clear(),
  };
}

/**
 * Calls `onIdle` once nothing has run for `idleMs`, as seen from outside the instance. A tick that does not come to lead is no
 * work; one that lasts leads, as nothing else takes so long.
 */
export function makeIdleWatch(idleMs: number, clock: Clock, onIdle: () => void) {
  const running = new Set<string>();
  let workedAtMs = clock.monotonicMs();
  let cancel = (): void => undefined;
  const watch = (): void => {
    cancel();
    if (running.size > 0) return;
    cancel = clock.after(Math.max(0, workedAtMs + idleMs - clock.monotonicMs()), onIdle);
  };
  watch();
  return {
    started(invocation: string): void {
      running.add(invocation);
      watch();
    },
    ended(invocation: string, functionName: string, ms: number): void {
      running.delete(invocation);
      if (!ticks.has(functionName) || ms >= ledMsMin) workedAtMs = clock.monotonicMs();
      watch();
    },
    /** Its process has ended, and with it all that ran. */
    exited(): void {
      if (running.size > 0) workedAtMs = clock.monotonicMs();
      running.clear();
      watch();
    },
    clear: () => cancel(),
  };
}

const ledMsMin = 5_000;
const ticks: ReadonlySet<string> = new Set(["coordinator", "wake"]);
