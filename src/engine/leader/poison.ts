import { StorageError } from "../model/errors.ts";
import { limits } from "../model/limits.ts";
import { poisonOf } from "../model/names.ts";
import type { Term } from "./term.ts";

/**
 * Has the worker of this process record the ends of sends whose messages the host has set aside. The leader reads poison
 * queues only where work is about to count as lost, because a function for each would have the host poll them all day. Their records are
 * there for the next list of failures, before the work counts as lost. `nowMs`: storage's time before the call.
 *
 * Not promised: that what concerns no run at work is read at all. The host lets such messages expire after a week.
 */
export async function recordPoison(term: Term, nowMs: number): Promise<void> {
  const { storage, names, leader, local, poison } = term;
  if (local === undefined) return;
  const { queues } = storage;
  for (const queueOfWork of [names.urgent, names.packs]) {
    const queue = poisonOf(queueOfWork);
    try {
      leader.assertLeading();
      for (const one of await queues.receive(queue, { max: limits.peekMax, visibilityS: hiddenS })) {
        const { id, popReceipt, text, dequeueCount: attempt } = one;
        await local.recordPoison({ queue, urgent: queueOfWork === names.urgent, text, attempt });
        leader.progress();
        await queues.remove(queue, id, popReceipt);
      }
    } catch (error) {
      if (!(error instanceof StorageError)) throw error;
      // What was not removed is read again. A queue that may not be read must not hold up what is lost.
      if (error.kind === "busy") return;
    }
  }
  poison.readMs = nowMs;
}

/** A leader that dies meanwhile leaves its messages to the next one. */
const hiddenS = 60;
