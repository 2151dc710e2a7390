import { CorruptDataError } from "../../model/errors.ts";
import { encodeFailure } from "../../model/failureRecord.ts";
import { type MessageOf, type WorkMessage, workOf } from "../../model/message.ts";
import { encodeVerified, type Verified } from "../../model/output.ts";
import type { Range } from "../../model/packs.ts";
import type { Failure } from "../../model/run.ts";
import { resultBlobs, runBlobs } from "../../model/runBlobs.ts";
import { specDiffers } from "../../model/storedSpec.ts";
import { createOrReplace, persist } from "../../storage/callSteps.ts";
import { refusal, writeAnswer } from "../answerSoFar.ts";
import { DroppedError, type WorkerPorts } from "../ports.ts";

type FailedAttempt = Omit<Failure, "v" | "chunks" | "named"> & {
  /** The chunks that the message tells; of a pack as a whole none. */
  readonly named?: Range | undefined;
};

/**
 * Ends a send that will have no output: a record for the leader, or for a client's question the answer that there is
 * none. A run that is gone, or no longer wants this work, gets no record, because nobody would read or delete it. Neither
 * does a message whose uid is not that of the run's spec, because it may be forged. See rule *failure records*.
 */
export async function endSend(
  ports: WorkerPorts,
  message: WorkMessage,
  failure: FailedAttempt,
): Promise<string> {
  if (!(await isKnown(ports, message))) return "unknown-run";
  if (message.kind === "sofar") return writeAnswer(ports, message, refusal(failure.code, failure.message));
  if (message.kind === "verify") return writeVerified(ports, message, { error: failure });
  // A marker that cannot be read tells nothing: a needless record is better than a send that never ends.
  const unwanted = await ports.watch.unwanted(message, "end").catch(() => undefined);
  if (unwanted !== undefined) return "unwanted";
  return recordFailure(ports, message, failure);
}

/** Writes an answer to `verify`. The first one stands: its client may have read it. */
export async function writeVerified(
  { storage, names }: WorkerPorts,
  { run, uid, tag, pack }: MessageOf<"verify">,
  verified: Verified,
): Promise<string> {
  const name = resultBlobs(run, uid).verified(tag, pack);
  const created = await storage.blobs.create(names.results, name, JSON.stringify(verified), {
    contentType: "application/json",
    metadata: encodeVerified(verified),
  });
  return created.kind;
}

/** The last attempt and the poison handler both write it, and the first record stands. */
async function recordFailure(
  { storage, names }: WorkerPorts,
  message: WorkMessage,
  failure: FailedAttempt,
): Promise<"created" | "existed" | "nothing"> {
  const work = workOf(message);
  if (work === undefined) return "nothing";
  const name = runBlobs(message.run, message.uid).failure(work, message.gen, message.send);
  const { body, write } = encodeFailure({ ...failure, ...chunksOf(message, failure) }, message.plan);
  return (await storage.blobs.create(names.runs, name, body, write)).kind;
}

/**
 * Notes the latest attempt of a send that threw, so that people see it while others are tried, and so that the leader
 * does not take the wait for the next one for a lost message. It is a hint: without it work is resent once in vain.
 */
export async function noteTried(
  ports: WorkerPorts,
  message: WorkMessage,
  failure: Omit<FailedAttempt, "cause">,
): Promise<void> {
  const work = workOf(message);
  if (work === undefined) return;
  const { storage, names } = ports;
  const name = runBlobs(message.run, message.uid).tried(work, message.gen, message.send);
  const { body, write } = encodeFailure({ ...failure, ...chunksOf(message, failure), cause: "error" });
  // If this fails, the next attempt writes its own note, or a record.
  const put = () => createOrReplace(storage.blobs, [names.runs, name], body, write);
  await (failure.laterS === undefined ? put() : persist(ports, put)).catch(() => {});
}

/** Those that the message of the failure tells, else the whole pack. */
const chunksOf = (message: WorkMessage, { named }: Pick<FailedAttempt, "named">) => ({
  named: named && (true as const),
  ...(message.kind === "compute" ? { chunks: named ?? { from: message.from, to: message.to } } : {}),
});

/** Whether there is a run of this id and uid. Throws when storage cannot be read. */
async function isKnown({ documents }: WorkerPorts, message: WorkMessage): Promise<boolean> {
  try {
    await documents.spec(message);
    return true;
  } catch (error) {
    if (error instanceof CorruptDataError) return error.code === specDiffers;
    if (error instanceof DroppedError) return false;
    throw error;
  }
}
