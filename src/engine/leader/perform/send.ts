import { StorageError } from "../../model/errors.ts";
import { limits } from "../../model/limits.ts";
import { encodeMessage, type WorkMessage } from "../../model/message.ts";
import type { Term } from "../term.ts";

interface Send {
  readonly message: WorkMessage;
  readonly urgent: boolean;
}

interface SendOptions<One> {
  /** Sends at the same moment. */
  readonly atOnce?: number;
  /** Whether the slowest are made twice. */
  readonly hedged?: boolean;
  /** Called for each message that was sent, also where another one fails and `sendAll` throws. */
  readonly onSent?: (one: One) => void;
}

/** Sends messages with bounded parallelism and stops at once when the term ends. */
export async function sendAll<One extends Send>(
  term: Term,
  sends: readonly One[],
  { atOnce = limits.sendsAtOnce, hedged = true, onSent = () => {} }: SendOptions<One> = {},
): Promise<void> {
  const waiting = sends.values();
  // Slow sends that may still be made twice.
  const hedges = { left: hedged ? Math.ceil(sends.length * limits.hedgesShare) : 0 };
  const failures: unknown[] = [];
  const sendSome = async (): Promise<void> => {
    // All senders share one iterator, so each message is sent by one of them.
    for (const one of waiting) {
      try {
        await sendOne(term, one, hedges);
        onSent(one);
      } catch (error) {
        failures.push(error);
      }
      if (failures.length > 0) return;
    }
  };
  const senders = Math.min(atOnce, limits.sendsAtOnce, sends.length);
  await Promise.all(Array.from({ length: senders }, sendSome));
  if (failures.length > 0) throw failures[0];
}

/** A send without a reply is repeated: it may double the message, which only costs compute. */
async function sendOne(term: Term, { message, urgent }: Send, hedges: { left: number }): Promise<void> {
  const { leader, names, clock, storage } = term;
  const queue = urgent ? names.urgent : names.packs;
  const text = encodeMessage(message);
  const send = () => storage.queues.send(queue, text, { signal: leader.lost });
  for (let attempt = 1; ; attempt += 1) {
    leader.assertLeading();
    try {
      return await sendHedged(term, send, hedges);
    } catch (error) {
      const busy = error instanceof StorageError && error.kind === "busy";
      if (!busy || attempt >= limits.sendTries) throw error;
      await clock.sleep(100 * attempt, leader.lost);
    }
  }
}

/** One slow send delays all that were sent with it, so the few slowest are made twice and the first reply counts. */
async function sendHedged(
  { clock, leader }: Term,
  send: () => Promise<unknown>,
  hedges: { left: number },
): Promise<void> {
  const first = send();
  const slow = Promise.withResolvers<"slow">();
  const stopWaiting = clock.after(limits.hedgeAfterMs, () => slow.resolve("slow"));
  try {
    if ((await Promise.race([first, slow.promise])) !== "slow" || hedges.left <= 0) return void (await first);
  } finally {
    stopWaiting();
  }
  hedges.left -= 1;
  leader.assertLeading();
  await Promise.any([first, send()]).catch(() => first);
}
