import { LeasefoldError } from "../../model/errors.ts";
import { limits } from "../../model/limits.ts";
import type { Clock } from "../../storage/ports.ts";
import { urgentFirst } from "./urgentFirst.ts";
import type { TaskOptions } from "./userCode.ts";

/** Every thread of this process is at its task for longer than planned, so that another instance may have one sooner. */
export class NoThreadError extends LeasefoldError {
  /** Resolves once a thread is free here, or none will be any more. Never rejects. */
  readonly freed: Promise<void>;
  constructor(freed: Promise<void>) {
    super("no-thread", "every thread of this instance is at its task for longer than planned", {
      retry: "later",
    });
    this.freed = freed;
  }
}

/**
 * The threads of a process: urgent callers first, and nobody waits for threads that are overdue (rule *no thread*). Whoever is sent
 * away keeps its place: the thread that it would have had is kept a moment for urgent work, because the host polls for that once the
 * delivery of the one sent away has ended.
 *
 * Not promised: an end of the wait of isolated work. It needs all threads of a process, and elsewhere it would wait anew.
 */
export function threadSlots(threads: number, clock: Pick<Clock, "monotonicMs" | "after">) {
  const slots = urgentFirst(threads);
  /** When the task of each thread is overdue. */
  const overdueMs = new Set<{ readonly atMs: number }>();
  /** Threads that are kept for urgent work; each cancels that. */
  const kept = new Set<() => void>();

  /** Gives the thread to whoever is urgent, now or in a moment. */
  function keep(): void {
    if (slots.urgentWaits()) return slots.leave();
    const end = clock.after(limits.keptForUrgentMs, () => {
      kept.delete(end);
      slots.leave();
    });
    kept.add(end);
  }

  /** Whether there was a kept thread, which is the caller's now. */
  function takeKept(): boolean {
    const [cancel] = kept;
    if (cancel === undefined) return false;
    kept.delete(cancel);
    cancel();
    return true;
  }

  /** Throws once all threads are overdue. */
  async function inTime(taking: Promise<void>): Promise<void> {
    let cancel = (): void => {};
    const tooLong = new Promise<"too long">((resolve) => {
      const leftMs = (): number => {
        const busy = [...overdueMs].map(({ atMs }) => atMs);
        // A thread that has just been left is taken in this moment.
        const atMs = busy.length < threads ? clock.monotonicMs() + limits.noThreadMs : Math.max(...busy);
        return atMs - clock.monotonicMs();
      };
      const wait = (): void => {
        cancel = clock.after(Math.max(0, leftMs()), () => (leftMs() > 0 ? wait() : resolve("too long")));
      };
      wait();
    });
    const first = await Promise.race([taking, tooLong]).finally(() => cancel());
    if (first === "too long") throw new NoThreadError(taking.then(keep, () => {}));
  }

  return {
    /** Gives what leaves the thread again. Throws `NoThreadError`. */
    async hold({
      urgent,
      isolated = false,
      expectedMs = 0,
    }: Pick<TaskOptions, "urgent" | "isolated" | "expectedMs">): Promise<() => void> {
      const needs = isolated ? threads : 1;
      if (isolated) while (takeKept()) slots.leave();
      if (isolated) await slots.take(urgent, needs);
      else if (!(urgent && takeKept())) await inTime(slots.take(urgent));
      const mostMs = Math.max(limits.noThreadMs, 2 * expectedMs);
      const tasks = Array.from({ length: needs }, () => ({ atMs: clock.monotonicMs() + mostMs }));
      for (const task of tasks) overdueMs.add(task);
      return () => {
        for (const task of tasks) overdueMs.delete(task);
        slots.leave(needs);
      };
    },
    close: slots.close,
  };
}
