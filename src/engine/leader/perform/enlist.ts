import { cappedCall } from "../../../election/cappedCall.ts";
import { type ClosedRun, closedBlob, decodeClosedRun, encodeClosedRun } from "../../model/closedRun.ts";
import { unlessCorrupt } from "../../model/decode.ts";
import { endedRunOf } from "../../model/endedRun.ts";
import { messageOf } from "../../model/errors.ts";
import { logEvents } from "../../model/log.ts";
import { givenUpOf } from "../../model/outcomes.ts";
import { packsOf } from "../../model/packs.ts";
import type { Manifest, Spec } from "../../model/run.ts";
import { specBlob } from "../../model/runBlobs.ts";
import { spentOf } from "../../model/spent.ts";
import type { State } from "../../model/state.ts";
import { persist } from "../../storage/callSteps.ts";
import type { Found } from "../../storage/ports.ts";
import { manifestOrNone } from "../poll/poll.ts";
import type { Submitted, Term } from "../term.ts";

export interface Ended {
  readonly state: State;
  /** Absent if the spec does not decode. */
  readonly submitted: Submitted | undefined;
  readonly manifest: Manifest | undefined;
}

/**
 * Writes what lists show of the run, and as its content the completion event. Create-only, and replaced only by a later
 * generation or by another run of the same id: a leader that was deposed meanwhile cannot undo what a later one wrote. Each
 * is one Put Blob, of which Event Grid tells.
 */
export async function enlist(term: Term, { state, submitted, manifest: found }: Ended): Promise<void> {
  const { storage, names, leader } = term;
  const name = closedBlob(state.run, submitted?.submittedMs ?? (await specWrittenMs(term, state)));
  // One that came after a run failed, or that the leader refused, says nothing of this state.
  const manifest = state.phase === "complete" ? found : undefined;
  const closed = closedRunOf(state, submitted?.spec, manifest);
  const ended = endedRunOf(closed, { createdMs: state.createdMs, results: names.results, manifest });
  const body = JSON.stringify(ended);
  const signal = leader.lost;
  // Event Grid shows and filters by the content type, but not by metadata.
  const contentType = `application/json; outcome=${closed.phase}`;
  const write = { metadata: encodeClosedRun(closed), contentType, signal };
  // First: a leader that finds no blob sends the event again.
  await sendToQueue(term, state, body);
  leader.assertLeading();
  const reply = await storage.blobs.create(names.runs, name, body, write);
  if (reply.kind === "created") return;
  const there = await storage.blobs.head(names.runs, name, { signal });
  if (there.kind === "missing") return;
  if (await isListed(there, state)) return;
  leader.assertLeading();
  await storage.blobs.replace(names.runs, name, body, { ...write, ifMatch: there.properties.etag });
}

/** Time that the queue of completion events has: other runs wait meanwhile. */
const queueMs = 5_000;

/** Waits for the queue for a while only: an event that it does not take is logged, and the run is closed all the same. */
async function sendToQueue(term: Term, { run, uid }: State, event: string): Promise<void> {
  const { clock, endedQueue: queue, leader, log, storage } = term;
  if (queue === undefined) return;
  const wait = { clock, endRetryMs: queueMs };
  const reply = await cappedCall(
    clock,
    queueMs,
    (signal) => persist(wait, () => storage.queues.send(queue, event, { signal })),
    leader.lost,
  );
  leader.assertLeading();
  if (reply.kind === "failed")
    log(logEvents.completionEventLost({ run, uid, queue, why: messageOf(reply.error) }));
}

/** Whether the blob is of this end, or of a later one of the run. One that does not decode gives way. */
async function isListed({ properties: { metadata } }: Found, { run, uid, generation }: State) {
  const known = await unlessCorrupt(() => decodeClosedRun(metadata, `the summary of ${run}`));
  return known?.uid === uid && known.generation >= generation;
}

/**
 * Before a retry begins over a final state: whoever wrote that may have died before it published the completion
 * event. Without this, that generation would have none.
 */
export async function enlistBefore(term: Term, state: State, submitted: Submitted): Promise<void> {
  const { storage, names, leader } = term;
  const name = closedBlob(state.run, submitted.submittedMs);
  const there = await storage.blobs.head(names.runs, name, { signal: leader.lost });
  if (there.kind === "found" && (await isListed(there, state))) return;
  await enlist(term, { state, submitted, manifest: await manifestOrNone(term, state) });
}

/** A spec that does not decode has a time all the same, by which a deletion finds the summary. */
async function specWrittenMs({ storage, names, leader }: Term, { run, createdMs }: State): Promise<number> {
  const spec = await storage.blobs.head(names.runs, specBlob(run), { signal: leader.lost });
  return spec.kind === "found" ? spec.properties.lastModifiedMs : createdMs;
}

function closedRunOf(state: State, spec: Spec | undefined, manifest: Manifest | undefined): ClosedRun {
  const { run, uid, generation, phase, layout, error } = state;
  const done = manifest?.folded ?? state.chunksDone;
  const { packs, chunks } = givenUpOf(state);
  const givenUp = (count: number) => (count === 0 ? {} : { givenUp: count });
  return {
    run,
    uid,
    generation,
    phase: phase as ClosedRun["phase"],
    error,
    calculation: spec?.calculation ?? "",
    params: spec?.params,
    code: state.code ?? spec?.code,
    finishedMs: state.finishedMs ?? state.updatedMs,
    retriedMs: state.retriedMs,
    earlierMs: state.earlier?.reduce((sum, { tookMs }) => sum + tookMs, 0),
    sha256: manifest?.sha256,
    cost: spentOf(state).cost,
    tags: spec?.tags,
    by: spec?.by,
    ...(layout && {
      packs: {
        ...{ total: packsOf(layout), done: state.packsDone, failed: state.packsFailed, ...givenUp(packs) },
      },
      chunks: {
        total: layout.chunks,
        done,
        failed: manifest ? layout.chunks - done : state.chunksFailed,
        ...givenUp(chunks),
      },
    }),
  };
}
