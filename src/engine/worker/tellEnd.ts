import { LeasefoldError, messageOf } from "../model/errors.ts";
import { logEvents } from "../model/log.ts";
import { encodeMessage, type TellMessage } from "../model/message.ts";
import { persist } from "../storage/callSteps.ts";
import { enqueueAgain, enqueueForOthers } from "./attempt/decodeDelivery.ts";
import type { Delivery, Teller, WorkerPorts } from "./ports.ts";

/**
 * Delivers the word that a run has ended to a queue and to webhooks. Each place that does not take it gets it again later, by
 * itself and with the pauses below.
 *
 * Not promised: that a place gets it once, or before the word of another run.
 */

/** Pauses in seconds after a delivery that failed, as Standard Webhooks has them: 76 hours in all. */
export const tellAgainAfterS: readonly number[] = [
  5,
  300,
  1_800,
  ...[2, 5, 10, 14, 20, 24].map((hours) => hours * 3_600),
];

/** A place that hangs must not take the threads of runs: beyond so many deliveries in a process, words wait. */
const atOnceMax = 4;
const waitS = 10;
const atOnce = new WeakMap<ReadonlyMap<string, Teller>, number>();

export async function tellEnd(ports: WorkerPorts, delivery: Delivery, message: TellMessage): Promise<void> {
  const { tellers } = ports;
  // An instance without the settings leaves it to others, for a day.
  if (tellers === undefined) return enqueueForOthers(ports, delivery, noSetting());
  const now = atOnce.get(tellers) ?? 0;
  if (now >= atOnceMax) return persist(ports, () => enqueueAgain(ports, delivery, waitS));
  atOnce.set(tellers, now + 1);
  try {
    await deliver(ports, tellers, message);
  } finally {
    atOnce.set(tellers, (atOnce.get(tellers) ?? 1) - 1);
  }
}

const noSetting = () =>
  new LeasefoldError("no-such-setting", "no instance has the settings by which words of ended runs are sent");

async function deliver(
  ports: WorkerPorts,
  tellers: ReadonlyMap<string, Teller>,
  message: TellMessage,
): Promise<void> {
  const { run, uid, word, tries = 0 } = message;
  const laterS = tellAgainAfterS[tries];
  const tell = async (key: string): Promise<string[]> => {
    const teller = tellers.get(key);
    const piece = { run, uid, to: teller?.name ?? key, attempt: tries + 1 };
    if (teller === undefined) {
      ports.log(logEvents.wordUndelivered({ ...piece, why: "no setting names it any more" }));
      return [];
    }
    try {
      const taken = await teller.tell(word);
      if (taken) ports.log(logEvents.wordTold(piece));
      else ports.log(logEvents.wordUndelivered({ ...piece, why: "it asks for no more (410)" }));
      return [];
    } catch (error) {
      const why = messageOf(error);
      if (laterS === undefined) ports.log(logEvents.wordUndelivered({ ...piece, why }));
      else ports.log(logEvents.wordRefused({ ...piece, why, laterS }));
      return [key];
    }
  };
  const failed = (await Promise.all((message.to ?? [...tellers.keys()]).map(tell))).flat();
  if (failed.length === 0 || laterS === undefined) return;
  const text = encodeMessage({ ...message, to: failed, tries: tries + 1 });
  await persist(ports, () => enqueueAgain(ports, { queue: ports.names.urgent, text }, laterS));
}

/** What the host set aside: its processes died with it. */
export function wordSetAside({ log }: WorkerPorts, { run, uid, tries = 0, to }: TellMessage): void {
  const why = "the host set the message aside after its last delivery";
  log(logEvents.wordUndelivered({ run, uid, to: to?.join(", ") ?? "all", attempt: tries + 1, why }));
}
