import { StorageError } from "../../model/errors.ts";
import { limits } from "../../model/limits.ts";
import { encodeMessage, type WorkMessage } from "../../model/message.ts";
import type { CoordinatorPorts } from "./perform.ts";
import type { Ownership } from "./stateChain.ts";

export interface Send {
  readonly message: WorkMessage;
  readonly urgent: boolean;
}

/**
 * Sends messages with bounded parallelism and stops at once when the term ends. `hedged`: the slowest are sent twice.
 * `onPut` is called for each message that was sent, also where another one fails and this throws.
 */
export async function sendAll<One extends Send>(
  ports: CoordinatorPorts,
  owner: Ownership,
  sends: readonly One[],
  {
    atOnce = limits.sendsAtOnce,
    hedged = true,
  }: { readonly atOnce?: number; readonly hedged?: boolean } = {},
  onPut: (one: One) => void = () => {},
): Promise<void> {
  const waiting = sends.values();
  const hedges = { left: hedged ? Math.ceil(sends.length * limits.hedgesShare) : 0 };
  let failed: { readonly error: unknown } | undefined;
  const putSome = async (): Promise<void> => {
    // They share one iterator, so each message is put by one of them.
    for (const one of waiting) {
      const queue = one.urgent ? ports.names.urgent : ports.names.packs;
      try {
        await sendOne(ports, owner, queue, encodeMessage(one.message), hedges);
        onPut(one);
      } catch (error) {
        failed ??= { error };
      }
      if (failed !== undefined) return;
    }
  };
  const putters = Math.min(atOnce, limits.sendsAtOnce, sends.length);
  await Promise.all(Array.from({ length: putters }, putSome));
  if (failed !== undefined) throw (failed as { readonly error: unknown }).error;
}

/** A put without an answer is repeated: it may double the message, which only costs compute. */
async function sendOne(
  ports: CoordinatorPorts,
  owner: Ownership,
  queue: string,
  text: string,
  hedges: { left: number },
): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    owner.assertLeading();
    try {
      await putHedged(ports, owner, queue, text, hedges);
      return;
    } catch (error) {
      const busy = error instanceof StorageError && error.kind === "busy";
      if (!busy || attempt >= limits.sendTries) throw error;
      await ports.clock.sleep(100 * attempt, owner.lost);
    }
  }
}

/** One slow put holds up all that were sent with it, so the few slowest are put twice and the first answer counts. */
async function putHedged(
  { storage, clock }: CoordinatorPorts,
  owner: Ownership,
  queue: string,
  text: string,
  hedges: { left: number },
): Promise<void> {
  const put = () => storage.queues.send(queue, text, { signal: owner.lost });
  const first = put();
  let stopWaiting = (): void => {};
  const slow = new Promise<"slow">((resolve) => {
    stopWaiting = clock.after(limits.hedgeAfterMs, () => resolve("slow"));
  });
  try {
    if ((await Promise.race([first, slow])) !== "slow" || hedges.left <= 0) return void (await first);
  } finally {
    stopWaiting();
  }
  hedges.left -= 1;
  owner.assertLeading();
  await Promise.any([first, put()]).catch(() => first);
}
