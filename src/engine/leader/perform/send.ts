import { StorageError } from "../../model/errors.ts";
import { limits } from "../../model/limits.ts";
import { encodeMessage, type WorkMessage } from "../../model/message.ts";
import type { Term, TermRun } from "../term.ts";

interface Send {
  readonly message: WorkMessage;
  readonly urgent: boolean;
}

interface SendOptions<One> {
  /** Sends at the same moment. */
  readonly atOnce?: number;
  /** Called for each message that was sent, also where another one fails and `sendAll` throws. */
  readonly onSent?: (one: One) => void;
}

/**
 * Sends work of a run: to the worker of this process what that can begin soon, the rest to the queues. `expectedMs`: time
 * that each takes.
 */
export async function sendWork<One extends Send>(
  run: TermRun,
  sends: readonly One[],
  { expectedMs, ...options }: SendOptions<One> & { readonly expectedMs?: number } = {},
): Promise<void> {
  const { term, sendNotes, spec } = run;
  const { leader, local, pause, packLimitMs } = term;
  const { calculation, packLimitMs: limitMs = packLimitMs } = spec;
  if (sends.length > 0) leader.assertLeading();
  const queued = sends.filter((one) => {
    const { message, urgent } = one;
    // A plan and a result are waited for, and so is the last pack of a run that is computed here alone.
    const onEnd = (left: number): void => {
      const isLast = left === 0 && !sendNotes.queued;
      if (message.kind === "plan" || message.kind === "finish" || isLast) pause.end();
    };
    const work = { urgent, calculation, limitMs: Math.min(limitMs, packLimitMs), expectedMs };
    if (local?.take(message, work, onEnd) !== true) return true;
    options.onSent?.(one);
    return false;
  });
  sendNotes.queued ||= queued.length > 0;
  await sendAll(term, queued, options);
}

/** Sends messages with bounded parallelism and stops at once when the term ends. */
export async function sendAll<One extends Send>(
  term: Term,
  sends: readonly One[],
  { atOnce = limits.sendsAtOnce, onSent = () => {} }: SendOptions<One> = {},
): Promise<void> {
  const waiting = sends.values();
  const failures: unknown[] = [];
  const sendSome = async (): Promise<void> => {
    // All senders share one iterator, so each message is sent by one of them.
    for (const one of waiting) {
      try {
        await sendOne(term, one);
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
async function sendOne(term: Term, { message, urgent }: Send): Promise<void> {
  const { leader, names, clock, storage } = term;
  const queue = urgent ? names.urgent : names.packs;
  const text = encodeMessage(message);
  for (let attempt = 1; ; attempt += 1) {
    leader.assertLeading();
    try {
      return void (await storage.queues.send(queue, text, { signal: leader.lost }));
    } catch (error) {
      const busy = error instanceof StorageError && error.kind === "busy";
      if (!busy || attempt >= limits.sendTries) throw error;
      await clock.sleep(100 * attempt, leader.lost);
    }
  }
}
