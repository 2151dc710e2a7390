import { LeasefoldError } from "../../model/errors.ts";
import { limits } from "../../model/limits.ts";
import type { Clock } from "../../storage/ports.ts";
import { urgentFirst, type Waiter } from "./urgentFirst.ts";
import type { TaskOptions, UserCode } from "./userCode.ts";

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
 * The threads of a process: urgent callers first, and nobody waits for threads that are overdue (rule *attempts*). Whoever is sent
 * away keeps its place: the thread that it would have had is kept a moment for urgent work, because the host polls for that once the
 * delivery of the one sent away has ended.
 *
 * Not promised: an end of the wait of isolated work. It needs all threads of a process, and elsewhere it would wait anew.
 */
export function threadSlots(threads: number, clock: Pick<Clock, "monotonicMs" | "after">) {
  const slots = urgentFirst(threads);
  /** Threads that are not free: whose task each has, and when it is overdue. */
  const busy = new Set<{ readonly run: string | undefined; readonly overdueMs: number }>();
  /** Threads that are kept for urgent work; each ends that. */
  const kept = new Set<() => void>();

  /** Notes that a thread is not free until what this gives is called. */
  function note({ run, expectedMs = 0 }: Pick<TaskOptions, "run" | "expectedMs"> = {}): () => void {
    const mostMs = Math.max(limits.noThreadMs, limits.slowFactor * expectedMs);
    const thread = { run, overdueMs: clock.monotonicMs() + mostMs };
    busy.add(thread);
    return () => void busy.delete(thread);
  }

  /** Gives the thread to whoever is urgent, now or in a moment. */
  function keep(): void {
    if (slots.urgentWaits()) {
      slots.leave();
      return;
    }
    const forget = note();
    const end = (): void => {
      kept.delete(end);
      forget();
      cancel();
    };
    const cancel = clock.after(limits.keptForUrgentMs, () => {
      end();
      slots.leave();
    });
    kept.add(end);
  }

  /** Whether there was a kept thread, which is the caller's now. */
  function takeKept(): boolean {
    const [end] = kept;
    end?.();
    return end !== undefined;
  }

  /** Refuses a caller once all threads are overdue, unless all have tasks of its own run. It keeps its place. */
  function refuseInTime(waiter: Waiter, run: string | undefined): void {
    const { admit, refuse } = waiter;
    // Isolated work may wait before the caller, and keeps threads idle meanwhile.
    const leftMs = (): number =>
      [...busy].every((one) => one.run === run)
        ? limits.noThreadMs
        : Math.max(...[...busy].map(({ overdueMs }) => overdueMs)) - clock.monotonicMs();
    let cancel = (): void => {};
    const wait = (): void => {
      cancel = clock.after(Math.max(0, leftMs()), () => (leftMs() > 0 ? wait() : tooLong()));
    };
    const tooLong = (): void => {
      const freed = Promise.withResolvers<void>();
      waiter.admit = () => {
        keep();
        freed.resolve();
      };
      waiter.refuse = () => freed.resolve();
      refuse(new NoThreadError(freed.promise));
    };
    wait();
    waiter.admit = () => {
      cancel();
      admit();
    };
    waiter.refuse = (reason) => {
      cancel();
      refuse(reason);
    };
  }

  return {
    /** Gives what leaves the thread again. Throws `NoThreadError`. */
    async hold({ urgent, isolated = false, ...task }: Parameters<UserCode["hold"]>[0]): Promise<() => void> {
      const needs = isolated ? threads : 1;
      if (isolated) while (takeKept()) slots.leave();
      if (isolated) await slots.take(urgent, needs);
      else if (!(urgent && takeKept()))
        await slots.take(urgent, needs, (waiter) => refuseInTime(waiter, task.run));
      const forget = Array.from({ length: needs }, () => note(task));
      return () => {
        for (const one of forget) one();
        slots.leave(needs);
      };
    },
    close: slots.close,
  };
}
