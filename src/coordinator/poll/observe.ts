import { CorruptDataError, LeasefoldError, StorageError } from "../../model/errors.ts";
import { limits } from "../../model/limits.ts";
import { decodeMessage, onePackEach, workOf } from "../../model/message.ts";
import { parseSignBlob, signBlobs } from "../../model/names.ts";
import { workName } from "../../model/runBlobs.ts";
import { decodeSign, isLive, type SignedWork } from "../../model/sign.ts";
import type { State } from "../../model/state.ts";
import { pagesOf } from "../../storage/callSteps.ts";
import type { ListedBlob } from "../../storage/ports.ts";
import type { QueueMessage } from "../../storage/queuePort.ts";
import type { Term } from "../term.ts";

/**
 * What workers tell and what the queues show, read once for all runs: before their partials are listed, so that work which
 * ends meanwhile is seen in one or the other.
 *
 * Not promised: that a sign or a peek is the last word. Signs come late, and a queue is only roughly in order.
 */
export interface Observed {
  /** When the signs were listed, storage's time. */
  readonly nowMs: number;
  /** What processes say of a piece of work, by `workKey`. */
  readonly signs: ReadonlyMap<string, readonly SeenSign[]>;
  /** Runs of which a live process computes some work, by uid. */
  readonly computing: ReadonlySet<string>;
  readonly packs: SeenQueue;
  readonly urgent: SeenQueue;
  /** Signs and the urgent queue were read too; else nothing counts as lost. */
  readonly whole: boolean;
}

/** What the sign of one process says of a piece of work. */
export interface SeenSign extends SignedWork {
  readonly instance: string;
  readonly live: boolean;
  /** It was written as lately as it said it would be. */
  readonly fresh: boolean;
  /** Since the sign was written. */
  readonly silentMs: number;
  /** How the process ended, where its supervisor saw it. */
  readonly ended: string | undefined;
}

/** The first messages of a queue. */
export interface SeenQueue {
  /** There may be more messages. */
  readonly full: boolean;
  /** Work whose message is among them, by `workKey`. */
  readonly waiting: ReadonlySet<string>;
  /** The first pack of each send of a run's turn that nobody has received, by `turnKey`. */
  readonly firstPack: ReadonlyMap<string, number>;
  /** When the oldest message that nobody has received was inserted, storage's time. */
  readonly oldestMs: number | undefined;
}

type Of = Pick<State, "uid" | "generation">;
export const workKey = ({ uid, generation }: Of, name: string): string => `${uid} ${generation} ${name}`;
export const turnKey = ({
  uid,
  generation,
  turn,
  firstSend,
}: Of & Pick<State, "turn" | "firstSend">): string => `${uid} ${generation} ${turn} ${firstSend}`;

/**
 * Reads signs and queues at most once in so many ms; unless they are asked for, signs and the urgent queue only while there are
 * any. Gives nothing in between, and where storage is busy.
 */
export function observer({ storage, names, clock, leader }: Term) {
  let observedMs = Number.NEGATIVE_INFINITY;
  let quiet = false;
  const { lost: signal } = leader;
  const peek = async (queue: string): Promise<SeenQueue> =>
    seenQueue(await storage.queues.peek(queue, limits.peekMax, { signal }));
  return async (
    everyMs: number,
    { whole, nowMs }: Pick<Observed, "whole" | "nowMs">,
  ): Promise<Observed | undefined> => {
    if (clock.monotonicMs() - observedMs < everyMs) return undefined;
    observedMs = clock.monotonicMs();
    leader.assertLeading();
    try {
      if (quiet && !whole) {
        const none = { signs: new Map(), computing: new Set<string>(), urgent: seenQueue([]) };
        return { ...none, nowMs, whole, packs: await peek(names.packs) };
      }
      const [told, packs, urgent] = await Promise.all([
        listSigns(storage, names, signal),
        peek(names.packs),
        peek(names.urgent),
      ]);
      quiet = told.signs.size === 0 && urgent.waiting.size === 0 && !urgent.full;
      return { ...told, packs, urgent, whole: true };
    } catch (error) {
      if (error instanceof StorageError && error.kind === "busy") return undefined;
      throw error;
    }
  };
}

async function listSigns(
  { blobs }: Pick<Term["storage"], "blobs">,
  { coordination }: Term["names"],
  signal: AbortSignal,
): Promise<Pick<Observed, "nowMs" | "signs" | "computing">> {
  const seen: (readonly [string, SeenSign])[] = [];
  const computing = new Set<string>();
  const old: string[] = [];
  let nowMs = 0;
  for await (const page of pagesOf(blobs, coordination, signBlobs, { metadata: true, signal })) {
    nowMs = page.dateMs;
    for (const blob of page.blobs) {
      if (nowMs - blob.lastModifiedMs > limits.signKeptMs) old.push(blob.name);
      for (const one of signsIn(blob, nowMs)) {
        seen.push([workKey(one, workName(one.work)), one]);
        if (one.live && one.begun) computing.add(one.uid);
      }
    }
  }
  if (old.length > 0) await blobs.removeMany(coordination, old, { signal });
  const signs = Map.groupBy(seen, ([key]) => key);
  return {
    nowMs,
    computing,
    signs: new Map([...signs].map(([key, all]) => [key, all.map(([, one]) => one)])),
  };
}

/** A sign that does not decode tells nothing: its work counts as work without one. */
function signsIn({ name, metadata, lastModifiedMs }: ListedBlob, nowMs: number): SeenSign[] {
  try {
    const sign = decodeSign(metadata, name);
    const live = isLive(sign, lastModifiedMs, nowMs);
    const silentMs = nowMs - lastModifiedMs;
    const { ended, everyMs } = sign;
    const fresh = live && silentMs <= everyMs;
    return sign.works.map((work) => ({
      ...work,
      instance: parseSignBlob(name).instance,
      live,
      fresh,
      silentMs,
      ended,
    }));
  } catch (error) {
    if (error instanceof CorruptDataError) return [];
    throw error;
  }
}

/** A message that was received before waits too, but its age says nothing of those behind it. */
function seenQueue(messages: readonly QueueMessage[]): SeenQueue {
  const waiting = new Set<string>();
  const firstPack = new Map<string, number>();
  let oldestMs: number | undefined;
  for (const { text, dequeueCount, insertedMs } of messages) {
    if (dequeueCount === 0) oldestMs = Math.min(oldestMs ?? insertedMs, insertedMs);
    for (const message of unlessUnknown(text)) {
      const work = workOf(message);
      if (work === undefined) continue;
      const of = { uid: message.uid, generation: message.gen, turn: message.turn, firstSend: message.send };
      waiting.add(workKey(of, workName(work)));
      if (work.kind !== "pack" || dequeueCount > 0) continue;
      const key = turnKey(of);
      firstPack.set(key, Math.min(firstPack.get(key) ?? work.pack, work.pack));
    }
  }
  return { full: messages.length >= limits.peekMax, waiting, firstPack, oldestMs };
}

function unlessUnknown(text: string) {
  try {
    return onePackEach(decodeMessage(text));
  } catch (error) {
    if (error instanceof LeasefoldError) return [];
    throw error;
  }
}
