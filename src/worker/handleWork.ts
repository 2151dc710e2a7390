import { createHash } from "node:crypto";
import { CorruptDataError, LeasefoldError, messageOf, NewerVersionError } from "../model/errors.ts";
import { limits } from "../model/limits.ts";
import { logEvents } from "../model/log.ts";
import { decodeMessage, type WorkMessage } from "../model/message.ts";
import { droppedBlob, type Names, resultBlobs, runBlobs } from "../model/names.ts";
import type { Storage } from "../storage/ports.ts";
import { cleanUpShard } from "./cleanUpShard.ts";
import { combineShard } from "./combineShard.ts";
import { computePack } from "./computePack.ts";
import { recordFailure } from "./failureRecord.ts";
import { finishRun } from "./finishRun.ts";
import { planRun } from "./planRun.ts";
import {
  type Delivery,
  DroppedError,
  type Job,
  MalformedWorkError,
  StorageLostError,
  type WorkerPorts,
} from "./ports.ts";
import { stillWanted } from "./stillWanted.ts";

/**
 * Does what one message says, once. Workers never decide: they compute, fold and write under names that the
 * message fixes. Returning completes the message; throwing gives it back to the host for another delivery.
 *
 * Not promised: that a message is handled once. Every output is create-only, so a second handling changes nothing.
 */
export async function handleWork(ports: WorkerPorts, delivery: Delivery): Promise<void> {
  const message = await understand(ports, delivery);
  if (message === undefined) return;
  const { run, uid, kind, send } = message;
  const piece = { run, uid, kind, send, attempt: delivery.attempt };
  const startedMs = ports.clock.monotonicMs();
  try {
    const tag = `${send}-${delivery.attempt}-${ports.random.uuid().replaceAll("-", "").slice(0, 8)}`;
    const outcome = await dispatch(ports, { message, delivery, tag });
    ports.log(
      logEvents.workDone({ ...piece, ms: Math.round(ports.clock.monotonicMs() - startedMs), outcome }),
    );
  } catch (error) {
    if (error instanceof DroppedError) {
      ports.log(logEvents.workDropped({ ...piece, why: error.message }));
      return;
    }
    if (error instanceof MalformedWorkError) {
      await recordDropped(ports, delivery, error);
      return;
    }
    const code = error instanceof LeasefoldError ? error.code : "unexpected";
    // Another instance may understand what a newer version wrote; and storage that is away says nothing about the
    // work, so neither may end it.
    if (error instanceof NewerVersionError || (delivery.last && isBusy(error))) {
      ports.log(logEvents.workFailed({ ...piece, code, message: messageOf(error), last: false }));
      await putBack(ports.storage, delivery);
      return;
    }
    const lost = error instanceof StorageLostError;
    if (lost && (await outputThere(ports, message))) {
      ports.log(logEvents.workDropped({ ...piece, why: "another attempt has written the output" }));
      return;
    }
    // Bytes that do not decode will not decode next time either, and a lost member will not come back.
    const last = delivery.last || lost || error instanceof CorruptDataError;
    ports.log(logEvents.workFailed({ ...piece, code, message: messageOf(error), last }));
    if (!last) throw error;
    const cause = lost ? "storage-lost" : "error";
    const failure = { cause, code, message: messageOf(error), attempts: delivery.attempt } as const;
    await recordFailure(ports.storage.blobs, ports.names, message, failure);
  }
}

/** The message, or undefined for one that was put back for a newer version, or recorded as dropped. */
export async function understand(
  ports: Pick<WorkerPorts, "storage" | "names" | "log">,
  delivery: Delivery,
): Promise<WorkMessage | undefined> {
  try {
    return decodeMessage(delivery.text);
  } catch (error) {
    if (error instanceof NewerVersionError) await putBack(ports.storage, delivery);
    else await recordDropped(ports, delivery, error);
    return undefined;
  }
}

async function dispatch(ports: WorkerPorts, job: Job<WorkMessage["kind"]>): Promise<string> {
  const { message, delivery, tag } = job;
  if (message.kind !== "cleanup") await stillWanted(ports, message);
  switch (message.kind) {
    case "plan":
      return planRun(ports, { message, delivery, tag });
    case "compute":
      return computePack(ports, { message, delivery, tag });
    case "combine":
      return combineShard(ports, { message, delivery, tag });
    case "finish":
      return finishRun(ports, { message, delivery, tag });
    case "cleanup":
      return cleanUpShard(ports, { message, delivery, tag });
  }
}

const isBusy = (error: unknown): boolean => error instanceof LeasefoldError && error.retry === "later";

/** Whether the node or the manifest is there: then its inputs may well be cleaned up already. */
async function outputThere(ports: WorkerPorts, message: WorkMessage): Promise<boolean> {
  const { run, uid, gen } = message;
  const { blobs } = ports.storage;
  const manifest = await blobs.head(ports.names.results, resultBlobs(run, uid).manifest(gen));
  if (manifest.kind === "found") return true;
  if (message.kind !== "combine") return false;
  const node = await blobs.head(ports.names.runs, runBlobs(run, uid).node(gen, message.level, message.index));
  return node.kind === "found";
}

/** The message waits, hidden, in the queue it came from, with its deliveries counted anew. */
export async function putBack(storage: Storage, delivery: Pick<Delivery, "queue" | "text">): Promise<void> {
  await storage.queues.send(delivery.queue, delivery.text, { visibleInS: limits.newerVersionDelayS });
}

/** A message nobody can act on is recorded by its hash, logged the first time it is seen, and completed. */
export async function recordDropped(
  ports: { readonly storage: Storage; readonly names: Names; readonly log: WorkerPorts["log"] },
  delivery: Pick<Delivery, "queue" | "text">,
  error: unknown,
): Promise<void> {
  const sha256 = createHash("sha256").update(delivery.text).digest("hex");
  const { code, message } =
    error instanceof LeasefoldError ? error : { code: "unexpected", message: messageOf(error) };
  const body = JSON.stringify({ queue: delivery.queue, code, message, text: delivery.text.slice(0, 4_000) });
  const created = await ports.storage.blobs.create(ports.names.runs, droppedBlob(sha256), body, {
    contentType: "application/json",
  });
  if (created.kind === "created") {
    ports.log(logEvents.messageDropped({ queue: delivery.queue, code, message, sha256 }));
  }
}
