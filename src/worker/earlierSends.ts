import { LeasefoldError } from "../model/errors.ts";
import { accepts } from "../model/identity.ts";
import { limits } from "../model/limits.ts";
import { type WorkMessage, workOf } from "../model/message.ts";
import { parseBegun, resultBlobs, runBlobs } from "../model/names.ts";
import { parseOutputFacts } from "../model/output.ts";
import type { WorkerPorts } from "./ports.ts";

/**
 * What earlier sends and deliveries of a message's work left behind. Asked only for work that was sent or delivered
 * before, so the common path makes none of these calls.
 */

/** Processes keep dying with this work, so no other one begins it. */
export class ProcessEndedError extends LeasefoldError {
  constructor(times: number) {
    super("process-ended", `ended its process ${times} times`);
  }
}

/** Whether the output is there, or the manifest: then its inputs may well be cleaned up already. */
export async function outputThere(ports: WorkerPorts, message: WorkMessage): Promise<boolean> {
  const { run, uid, gen, origin } = message;
  const { runs, results } = ports.names;
  const at = runBlobs(run, uid, origin);
  const isThere = async (container: string, name: string): Promise<boolean> => {
    const found = await ports.storage.blobs.head(container, name);
    // One of other code is as good as none: whoever has the right code replaces it.
    return found.kind === "found" && accepts(message, parseOutputFacts(found.properties.contentType).code);
  };
  switch (message.kind) {
    case "plan":
      return isThere(runs, at.plan);
    case "compute":
      return isThere(runs, at.part(message.shard, message.pack));
    case "combine":
      return (
        (await isThere(runs, at.node(gen, message.level, message.index))) ||
        isThere(results, resultBlobs(run, uid).manifest(gen))
      );
    case "finish":
      return isThere(results, resultBlobs(run, uid).manifest(gen));
    default:
      // A client's question has no output but its answer.
      return false;
  }
}

/** Whether an attempt of this very send is known to have begun; a first send leaves no note of it. */
export async function sendBegan(ports: WorkerPorts, message: WorkMessage): Promise<boolean> {
  return message.repeat !== true || (await notesOf(ports, message, message.send)).length > 0;
}

/**
 * How many attempts of this work have begun and left nothing but their notes. Throws `ProcessEndedError` where at least
 * `diedSendsMax` of them are older than an attempt can take, and a retryable error where they may still be running.
 */
export async function checkEarlierAttempts(
  ports: WorkerPorts,
  message: WorkMessage,
  limitMs: number,
): Promise<number> {
  const notes = await notesOf(ports, message);
  if (notes.length < limits.diedSendsMax) return notes.length;
  const deadAfterMs = limitMs + ports.endRetryMs + limits.taskLateMs;
  const dead = notes.filter(({ ageMs }) => ageMs > deadAfterMs);
  if (dead.length >= limits.diedSendsMax) throw new ProcessEndedError(dead.length);
  throw new LeasefoldError("attempts-at-work", `${notes.length} attempts of this work may still be running`, {
    retry: "later",
  });
}

async function notesOf(
  ports: WorkerPorts,
  message: WorkMessage,
  send?: number,
): Promise<{ readonly ageMs: number }[]> {
  const work = workOf(message);
  if (work === undefined) return [];
  const prefix = runBlobs(message.run, message.uid).begunOf(work, message.gen, send);
  const notes: { readonly ageMs: number }[] = [];
  let cursor: string | undefined;
  do {
    const page = await ports.storage.blobs.list(ports.names.runs, prefix, { cursor });
    for (const { name, lastModifiedMs } of page.blobs) {
      if (parseBegun(name) !== undefined) notes.push({ ageMs: page.dateMs - lastModifiedMs });
    }
    cursor = page.cursor;
  } while (cursor !== undefined);
  return notes;
}
