import { wireVersion } from "../../model/decode.ts";
import { CorruptDataError } from "../../model/errors.ts";
import { limits } from "../../model/limits.ts";
import { type WorkMessage, workOf } from "../../model/message.ts";
import type { Names } from "../../model/names.ts";
import type { Failure } from "../../model/run.ts";
import { runBlobs } from "../../model/runBlobs.ts";
import type { BlobStore } from "../../storage/ports.ts";
import { refusal, writeAnswer } from "../answerSoFar.ts";
import { writeVerified } from "../compute.ts";
import { DroppedError, type WorkerPorts } from "../ports.ts";

/**
 * Records that a send ended without output, create-only: of the last attempt's own record and the poison
 * handler's, the first one stands. Cause and message also ride in the metadata, so that the leader's list has them.
 */
export async function recordFailure(
  blobs: BlobStore,
  names: Names,
  message: WorkMessage,
  failure: FailedAttempt,
): Promise<"created" | "existed" | "nothing"> {
  const work = workOf(message);
  if (work === undefined) return "nothing";
  const name = runBlobs(message.run, message.uid).failure(work, message.gen, message.send);
  const { body, write } = encoded(message, failure);
  return (await blobs.create(names.runs, name, body, write)).kind;
}

/**
 * Notes the latest attempt of a send that threw, so that people see it while others are tried, and so that the leader
 * does not take the time until the next one for a dead worker. Only a hint: without it work is sent once more in vain.
 */
export async function noteTried(
  { storage: { blobs }, names }: Pick<WorkerPorts, "storage" | "names">,
  message: WorkMessage,
  failure: Omit<FailedAttempt, "cause">,
): Promise<void> {
  const work = workOf(message);
  if (work === undefined) return;
  const name = runBlobs(message.run, message.uid).tried(work, message.gen, message.send);
  const { body, write } = encoded(message, { ...failure, cause: "error" });
  try {
    if ((await blobs.create(names.runs, name, body, write)).kind === "created") return;
    const there = await blobs.head(names.runs, name);
    if (there.kind === "found")
      await blobs.replace(names.runs, name, body, { ...write, ifMatch: there.properties.etag });
  } catch {
    // The next attempt or the record tells.
  }
}

type FailedAttempt = Omit<Failure, "v" | "chunks">;

function encoded(message: WorkMessage, failure: FailedAttempt) {
  const { cause, code, attempts, attemptsMax, final } = failure;
  const text = failure.message.slice(0, limits.errorCharactersMax);
  const record: Failure = {
    v: wireVersion,
    ...failure,
    message: text,
    ...(message.kind === "compute" ? { chunks: { from: message.from, to: message.to } } : {}),
  };
  const metadata: Record<string, string> = {
    ...{ cause, code, attempts: String(attempts) },
    message: Buffer.from(text.slice(0, 500)).toString("base64url"),
    ...(attemptsMax === undefined ? {} : { attemptsmax: String(attemptsMax) }),
    ...(final === true ? { final: "1" } : {}),
  };
  return { body: JSON.stringify(record), write: { contentType: "application/json", metadata } };
}

/**
 * Ends a send that will have no output: a record for the leader, or for a client's question the answer that there
 * is none. A run that is gone, or no longer wants this work, gets no record: nobody would read or delete it. Nor does
 * one whose spec cannot be read with the message's uid: the message may be forged.
 */
export async function endSend(
  ports: Pick<WorkerPorts, "storage" | "names" | "watch" | "documents">,
  message: WorkMessage,
  failure: Omit<Failure, "v" | "chunks">,
): Promise<string> {
  if (!(await isKnown(ports, message))) return "unknown-run";
  if (message.kind === "sofar") return writeAnswer(ports, message, refusal(failure.code, failure.message));
  if (message.kind === "verify") return writeVerified(ports, message, { error: failure });
  if (await unwanted(ports, message)) return "unwanted";
  return recordFailure(ports.storage.blobs, ports.names, message, failure);
}

/** Whether there is a run of this id and uid. Throws when storage cannot be read. */
async function isKnown(
  { documents }: Pick<WorkerPorts, "documents">,
  { run, uid }: WorkMessage,
): Promise<boolean> {
  try {
    await documents.spec(run, uid);
    return true;
  } catch (error) {
    if (error instanceof DroppedError || error instanceof CorruptDataError) return false;
    throw error;
  }
}

/** A marker that cannot be read says nothing: a record too many is better than a send that never ends. */
async function unwanted(ports: Pick<WorkerPorts, "watch">, message: WorkMessage): Promise<boolean> {
  try {
    return (await ports.watch.unwanted(message, "end")) !== undefined;
  } catch {
    return false;
  }
}
