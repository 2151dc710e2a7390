import { isUnreadable, LeasefoldError, StorageError } from "../../model/errors.ts";
import { limits } from "../../model/limits.ts";
import { logEvents } from "../../model/log.ts";
import { decodeMessage, workOf } from "../../model/message.ts";
import { heartbeatBlobs, parseHeartbeatBlob } from "../../model/names.ts";
import { workName } from "../../model/runBlobs.ts";
import { decodeHeartbeat, isLive } from "../../model/workerHeartbeat.ts";
import { pagesOf } from "../../storage/callSteps.ts";
import type { ListedBlob } from "../../storage/ports.ts";
import type { QueueMessage } from "../../storage/queuePort.ts";
import { type Observed, type SeenHeartbeat, type SeenQueue, turnKey, workKey } from "../seen.ts";
import type { Term } from "../term.ts";

/** Reads heartbeats and queues at most once in so many ms. Gives nothing in between, and where storage is busy. */
export function observer(term: Term) {
  const { storage, names, clock, leader, local, poison } = term;
  let observedMs = Number.NEGATIVE_INFINITY;
  const { lost: signal } = leader;
  const peek = async (queue: string): Promise<SeenQueue> =>
    seenQueue(await storage.queues.peek(queue, limits.peekMax, { signal }));
  return async (everyMs: number): Promise<Observed | undefined> => {
    if (clock.monotonicMs() - observedMs < everyMs) return undefined;
    observedMs = clock.monotonicMs();
    leader.assertLeading();
    try {
      const [heartbeats, packs, urgent] = await Promise.all([
        listHeartbeats(term),
        peek(names.packs),
        peek(names.urgent),
      ]);
      // Without a worker here nobody can record what is in them.
      return { ...heartbeats, packs, urgent, poisonMs: local === undefined ? undefined : poison.readMs };
    } catch (error) {
      if (error instanceof StorageError && error.kind === "busy") return undefined;
      throw error;
    }
  };
}

async function listHeartbeats(term: Term): Promise<Pick<Observed, "nowMs" | "heartbeats" | "computing">> {
  const { blobs } = term.storage;
  const { coordination } = term.names;
  const { lost: signal } = term.leader;
  const seen: (readonly [string, SeenHeartbeat])[] = [];
  const computing = new Map<string, number>();
  const old: string[] = [];
  let nowMs = 0;
  for await (const page of pagesOf(blobs, coordination, heartbeatBlobs, { metadata: true, signal })) {
    nowMs = page.dateMs;
    for (const blob of page.blobs) {
      if (nowMs - blob.lastModifiedMs > limits.heartbeatKeptMs) old.push(blob.name);
      for (const one of signsIn(term, blob, nowMs)) {
        seen.push([workKey(one, workName(one.work)), one]);
        if (one.live && one.begun) computing.set(one.uid, 1 + (computing.get(one.uid) ?? 0));
      }
    }
  }
  // One that storage refuses to delete, as it is leased by hand, must not end the term.
  if (old.length > 0) await blobs.removeMany(coordination, old, { signal }).catch(unlessOfStorage);
  const heartbeats = Map.groupBy(seen, ([key]) => key);
  return {
    nowMs,
    computing,
    heartbeats: new Map([...heartbeats].map(([key, all]) => [key, all.map(([, one]) => one)])),
  };
}

/** A heartbeat that stays is deleted by a later reading. */
function unlessOfStorage(error: unknown): void {
  if (!(error instanceof StorageError)) throw error;
}

/** A heartbeat that does not decode tells nothing: its work counts as work without one. */
function signsIn(
  { log, told }: Pick<Term, "log" | "told">,
  { name, metadata, lastModifiedMs }: ListedBlob,
  nowMs: number,
): SeenHeartbeat[] {
  try {
    const heartbeat = decodeHeartbeat(metadata, name);
    const live = isLive(heartbeat, lastModifiedMs, nowMs);
    const silentMs = nowMs - lastModifiedMs;
    const { ended, everyMs } = heartbeat;
    const fresh = live && silentMs <= everyMs;
    const of = { instance: parseHeartbeatBlob(name).instance, live, fresh, silentMs, ended };
    return heartbeat.works.map((work) => ({ ...work, ...of }));
  } catch (error) {
    if (!isUnreadable(error)) throw error;
    if (!told.has(name)) log(logEvents.unreadableHeartbeat({ name, message: error.message }));
    told.add(name);
    return [];
  }
}

/** A message that was received before waits too, but its age says nothing of those behind it. */
function seenQueue(messages: readonly QueueMessage[]): SeenQueue {
  const waiting = new Set<string>();
  const firstPack = new Map<string, number>();
  let oldestMs: number | undefined;
  for (const { text, dequeueCount, insertedMs } of messages) {
    if (dequeueCount === 0) oldestMs = Math.min(oldestMs ?? insertedMs, insertedMs);
    const message = unlessUnknown(text);
    const work = message && workOf(message);
    if (message === undefined || work === undefined) continue;
    const of = { uid: message.uid, generation: message.gen, turn: message.turn, cursorSend: message.send };
    waiting.add(workKey(of, workName(work)));
    if (work.kind !== "pack" || dequeueCount > 0) continue;
    const key = turnKey(of);
    firstPack.set(key, Math.min(firstPack.get(key) ?? work.pack, work.pack));
  }
  return { full: messages.length >= limits.peekMax, waiting, firstPack, oldestMs };
}

function unlessUnknown(text: string) {
  try {
    return decodeMessage(text);
  } catch (error) {
    if (error instanceof LeasefoldError) return undefined;
    throw error;
  }
}
