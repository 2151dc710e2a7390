import { limits } from "../../model/limits.ts";
import type { LocalSend, WorkMessage } from "../../model/message.ts";
import type { Clock } from "../../storage/ports.ts";

/** The worker of the leader's own process, as `worker/localWorker.ts` makes it. */
export interface LocalWorker {
  /**
   * Takes work that can begin soon, and gives what resolves once nothing of it is left in this process: it was done, or has
   * gone to the queue after all. Never rejects. Undefined: it does not fit here.
   */
  take(message: WorkMessage, work: LocalSend): Promise<void> | undefined;
  /** Records the end of a send whose message the host has set aside. Never rejects. */
  recordPoison(delivery: PoisonDelivery): Promise<void>;
}

interface PoisonDelivery {
  readonly queue: string;
  readonly urgent: boolean;
  readonly text: string;
  readonly attempt: number;
}

/**
 * Hands work of the leader to the worker of its own process, so that a small run waits for no poll of a queue. Whatever does
 * not fit there goes to the queue.
 *
 * Not promised: that what was taken is done. It is recorded as sent and is in no queue, so if this process dies it is resent
 * as any lost message (rules *judgement* and *observation*).
 */
export interface LocalWork extends Pick<LocalWorker, "recordPoison"> {
  /** True where the message needs no queue. `limitMs`: time limit of an attempt. `onEnd`: it has ended here, and how much of its run is left. */
  take(
    message: WorkMessage,
    work: Omit<LocalSend, "stopping"> & { readonly limitMs: number },
    onEnd: (left: number) => void,
  ): boolean;
  /** Whether anything of the run is here. */
  has(uid: string): boolean;
  /** Resolves once nothing that was taken is left here. The invocation that led must not end before. */
  settled(): Promise<void>;
}

/** `untilMs`: when all of it must have ended, on the monotonic clock. */
export function localWork(
  { worker, clock }: { readonly worker: LocalWorker; readonly clock: Clock },
  { untilMs, stopping }: { readonly untilMs: number; readonly stopping?: AbortSignal | undefined },
): LocalWork {
  const taken = new Map<Promise<void>, string>();
  const of = (uid: string): number => [...taken.values()].filter((one) => one === uid).length;
  return {
    take(message, { limitMs, ...work }, onEnd) {
      // What was sent before may have ended its process, and this one leads.
      if (message.isolated === true || message.repeat === true) return false;
      if (clock.monotonicMs() + limits.beginsHereMs + limitMs > untilMs) return false;
      const done = worker.take(message, { ...work, stopping });
      if (done === undefined) return false;
      taken.set(done, message.uid);
      void done.then(() => {
        taken.delete(done);
        onEnd(of(message.uid));
      });
      return true;
    },
    has: (uid) => of(uid) > 0,
    recordPoison: worker.recordPoison,
    async settled() {
      while (taken.size > 0) await Promise.all(taken.keys());
    },
  };
}
