import { LeasefoldError } from "../../model/errors.ts";
import { limits } from "../../model/limits.ts";
import { type WorkMessage, workOf } from "../../model/message.ts";
import { belongsTo, parseOutputFacts } from "../../model/output.ts";
import { parseBegun, resultBlobs, runBlobs } from "../../model/runBlobs.ts";
import { pagesOf, persist } from "../../storage/callSteps.ts";
import type { WorkerPorts } from "../ports.ts";

/**
 * What earlier sends and deliveries of a message's work left behind. Only work that was sent or delivered before asks,
 * so the common path makes none of these calls (docs/ARCHITECTURE.md, rule 17).
 */

/** Processes keep dying with this work, so no other one begins it. */
class ProcessEndedError extends LeasefoldError {
  constructor(times: number) {
    super("process-ended", `ended its process ${times} times`);
  }
}

/** Whether the output is there, or the manifest, after which inputs may be cleaned up already. */
export async function outputThere(ports: WorkerPorts, message: WorkMessage): Promise<boolean> {
  const { run, uid, gen, origin } = message;
  const { runs, results } = ports.names;
  const at = runBlobs(run, uid, origin);
  const isThere = async (container: string, name: string): Promise<boolean> => {
    const found = await ports.storage.blobs.head(container, name);
    // An output of another plan or of other code counts as missing, and is replaced.
    return found.kind === "found" && belongsTo(message, parseOutputFacts(found.properties.contentType));
  };
  const isFinished = () => isThere(results, resultBlobs(run, uid).manifest(gen));
  switch (message.kind) {
    case "plan":
      return isThere(runs, at.plan);
    case "compute":
      return isThere(runs, at.part(message.shard, message.pack));
    case "combine":
      return (await isThere(runs, at.node(gen, message.level, message.index))) || isFinished();
    case "finish":
      return isFinished();
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
 * `diedSendsMax` of them are older than an attempt can be, and a retryable error where they may still run.
 */
export async function checkEarlierAttempts(
  ports: WorkerPorts,
  message: WorkMessage,
  limitMs: number,
): Promise<number> {
  const notes = await notesOf(ports, message);
  if (notes.length < limits.diedSendsMax) return notes.length;
  const deadAfterMs = limitMs + ports.endRetryMs + limits.taskStragglerMsMin;
  const dead = notes.filter((ageMs) => ageMs > deadAfterMs);
  if (dead.length >= limits.diedSendsMax) throw new ProcessEndedError(dead.length);
  throw new LeasefoldError("attempts-at-work", `${notes.length} attempts of this work may still be running`, {
    retry: "later",
  });
}

/** The ages in ms of the begin notes of a message's work, or of one send of it. */
async function notesOf(ports: WorkerPorts, message: WorkMessage, send?: number): Promise<number[]> {
  const work = workOf(message);
  if (work === undefined) return [];
  const prefix = runBlobs(message.run, message.uid).begunOf(work, message.gen, send);
  const agesMs: number[] = [];
  for await (const page of pagesOf(ports.storage.blobs, ports.names.runs, prefix))
    for (const { name, lastModifiedMs } of page.blobs)
      if (parseBegun(name) !== undefined) agesMs.push(page.dateMs - lastModifiedMs);
  return agesMs;
}

/**
 * The note of an attempt that it has begun. Each attempt removes its own, however it ends, so a note that stays tells
 * that the process died with the work. The first send of a pack, which is the common path, leaves none. The others refresh
 * theirs while they work, so that a slow attempt is not taken for a dead one.
 */
export function beginNote(ports: WorkerPorts, message: WorkMessage, tag: string) {
  const { blobs } = ports.storage;
  const { runs } = ports.names;
  const work = workOf(message);
  if (work === undefined) return { begin: async () => {}, remove: async () => {} };
  const name = runBlobs(message.run, message.uid).begun(work, message.gen, message.send, tag);
  const ended = new AbortController();
  let begun = false;
  let written = false;
  let etag: string | undefined;
  let refreshing: Promise<void> | undefined;

  const create = async (): Promise<void> => {
    written = true;
    const created = await blobs.create(runs, name, "");
    etag = created.kind === "created" ? created.etag : ((await headEtag()) ?? etag);
  };
  const headEtag = async (): Promise<string | undefined> => {
    const found = await blobs.head(runs, name);
    return found.kind === "found" ? found.properties.etag : undefined;
  };
  const refresh = async (): Promise<void> => {
    if (etag === undefined) return create();
    const replaced = await blobs.replace(runs, name, "", { ifMatch: etag });
    etag = replaced.kind === "replaced" ? replaced.etag : await headEtag();
  };
  const keepFresh = async (): Promise<void> => {
    for (;;) {
      await ports.clock.sleep(limits.taskLifeEveryMs, ended.signal);
      if (ended.signal.aborted) return;
      // A sign of life that is missing costs a second attempt at most.
      await refresh().catch(() => {});
    }
  };

  return {
    /** Called when user code is about to begin; any call after the first does nothing. */
    async begin(): Promise<void> {
      if (begun) return;
      begun = true;
      if (message.repeat === true) await persist(ports, create);
      if (work.kind !== "pack" || written) refreshing = keepFresh();
    },
    async remove(): Promise<void> {
      ended.abort();
      await refreshing;
      if (written) await persist(ports, () => blobs.remove(runs, name)).catch(() => {});
    },
  };
}
