import { CorruptDataError } from "../model/errors.ts";
import type { WorkMessage } from "../model/message.ts";
import type { Failure } from "../model/run.ts";
import { refusal, writeAnswer } from "./answerSoFar.ts";
import { recordFailure } from "./failureRecord.ts";
import { DroppedError, type WorkerPorts } from "./ports.ts";
import { writeVerified } from "./verifyPack.ts";

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
