import { wireVersion } from "../model/decode.ts";
import { limits } from "../model/limits.ts";
import { type WorkMessage, workOf } from "../model/message.ts";
import { type Names, runBlobs } from "../model/names.ts";
import type { Failure } from "../model/run.ts";
import type { BlobStore } from "../storage/ports.ts";

/**
 * Records that a send ended without output, create-only: of the last attempt's own record and the poison
 * handler's, the first one stands. Cause and message also ride in the metadata, so that the leader's list has them.
 */
export async function recordFailure(
  blobs: BlobStore,
  names: Names,
  message: WorkMessage,
  failure: Pick<Failure, "cause" | "code" | "message" | "attempts">,
): Promise<"created" | "existed" | "nothing"> {
  const work = workOf(message);
  if (work === undefined) return "nothing";
  const text = failure.message.slice(0, limits.errorCharactersMax);
  const record: Failure = {
    v: wireVersion,
    ...failure,
    message: text,
    ...(message.kind === "compute" ? { chunks: { from: message.from, to: message.to } } : {}),
  };
  const name = runBlobs(message.run, message.uid).failure(work, message.gen, message.send);
  const short = Buffer.from(text.slice(0, 500)).toString("base64url");
  const created = await blobs.create(names.runs, name, JSON.stringify(record), {
    contentType: "application/json",
    metadata: { cause: failure.cause, message: short },
  });
  return created.kind;
}

/**
 * Notes that the first attempt of a send threw, so that the leader does not take the wait for the next one for a dead
 * worker and have the same error computed by others too. Only a hint: without it work is sent once more in vain.
 */
export async function noteTried(blobs: BlobStore, names: Names, message: WorkMessage): Promise<void> {
  const work = workOf(message);
  if (work === undefined) return;
  const name = runBlobs(message.run, message.uid).tried(work, message.gen, message.send);
  await blobs.create(names.runs, name, "").catch(() => {});
}
