import { limits } from "../model/limits.ts";
import { logEvents } from "../model/log.ts";
import { decodeMarker, encodeMarker, type Marker } from "../model/marker.ts";
import { resultBlobs, runBlobs } from "../model/runBlobs.ts";
import { deadlineMs, isFinal } from "../model/state.ts";
import { checkNamed, specLost } from "../model/storedSpec.ts";
import { pagesOf } from "../storage/callSteps.ts";
import { hasComeToRest } from "./decide/command.ts";
import { decide, decideMore } from "./decide/decide.ts";
import { type DecideTime, newRunNotes, taskKey, unsentTasks } from "./decide/draft.ts";
import { firstTasks } from "./decide/fanOut.ts";
import { beginDeletion, deleteRun } from "./deletion/deleteRun.ts";
import type { Observed } from "./observed.ts";
import { cleanUp, close, manifestOrNone } from "./perform/close.ts";
import { perform, sendTasks, writeState } from "./perform/perform.ts";
import { handleRunError } from "./perform/runErrors.ts";
import { takeOverState } from "./perform/stateChain.ts";
import { poll, readSpec } from "./poll/poll.ts";
import type { ListedMarker, PageBudget, Term, TermRun } from "./term.ts";

/** What all runs share in one loop of a leader. */
export interface Loop {
  readonly pages: PageBudget;
  /** Pages for the partials of one run, so that a large one leaves some to those beside it. */
  pagesPerRun: number;
  /** By id: the packs of a run that may be computed at once, where several runs share the workers. */
  readonly shares: ReadonlyMap<string, number | undefined>;
  /** What workers and queues tell, where they were read in this loop. */
  readonly observed: Observed | undefined;
  /** Runs for which no page was left in this loop; they come first in the next. */
  readonly unlisted: Set<string>;
  /** Set if the next loop must follow without a pause. */
  skipPause: boolean;
}

/** Polls one run and advances it. Its failure stays its own; only what ends the term is thrown on. */
export async function advance(term: Term, loop: Loop, listed: ListedMarker): Promise<void> {
  try {
    const marker = decodeMarker(listed.metadata, listed.id);
    if (marker.want === "delete") return await executeDelete(term, loop, marker, listed);
    const run = await openRun(term, marker, listed);
    if (run === undefined) return;
    await advanceOpen(run, loop);
    // A poll that had nothing to write says nothing of the writes that failed before.
    if (!run.notes.dirty) term.backoff.clear(listed);
  } catch (error) {
    await handleRunError(term, listed, error);
  }
}

/**
 * The run as this term holds it, taken over first if need be. Undefined where a poll has nothing to see: the run had ended
 * and is cleaned up now, was never accepted, or has just begun, and its plan is on its way.
 */
async function openRun(term: Term, marker: Marker, listed: ListedMarker): Promise<TermRun | undefined> {
  const { id, nowMs, writtenMs } = listed;
  const known = term.runs.get(id);
  if (known?.spec.uid === marker.uid && !isFinal(known.chain.state().phase))
    return Object.assign(known, { marker, listed });
  term.runs.delete(id);
  const submitted = await readSpec(term, id);
  if (submitted?.spec.uid !== marker.uid) return withdraw(term, marker, listed);
  const isNew = nowMs - writtenMs < limits.newRunMs && marker.command === 0;
  const { sha256 } = submitted;
  checkNamed("spec", id, sha256, marker.spec);
  // Of a recompute whose state was lost: it has a plan of its own.
  const anew = marker.redo === "recompute" ? { origin: marker.generation, code: marker.code } : {};
  const first = { ...firstTasks(marker, submitted.spec, nowMs), ...anew, spec: sha256 };
  const { reuse } = submitted.spec;
  const chain = await takeOverState(term, term.leader, { ...marker, id, nowMs, first, isNew, reuse });
  const state = chain.state();
  if (isFinal(state.phase)) {
    await cleanUp(term, listed, { state, submitted, manifest: await manifestOrNone(term, state) });
    return undefined;
  }
  checkNamed("spec", id, sha256, state.spec);
  const { uid, phase, packsDone, paused } = state;
  term.log(logEvents.runSealed({ run: id, uid, term: term.leader.term, phase, packsDone, paused }));
  const { tasks } = state;
  const recorded = chain.created ? [] : Object.keys(tasks).map((name) => taskKey(state, name));
  const notes = newRunNotes(term.clock.monotonicMs(), state.rate, recorded);
  const run: TermRun = { term, ...submitted, chain, notes, working: state, listed, marker };
  term.runs.set(id, run);
  if (!chain.created || Object.keys(tasks).length === 0) return run;
  await sendTasks(run, state);
  return undefined;
}

/**
 * Removes a marker that a submit wrote after a deletion had gone past it. It is alone then: a state or a manifest without
 * a spec tells of a spec that was lost, and nobody asked to delete the rest. Throws `CorruptDataError`, which ends that run.
 */
async function withdraw(term: Term, { uid }: Marker, { id, etag }: ListedMarker): Promise<undefined> {
  const { storage, names, leader } = term;
  const signal = leader.lost;
  const state = await storage.blobs.head(names.runs, runBlobs(id, uid).state, { signal });
  if (state.kind === "found" || (await hasManifest(term, id, uid))) throw specLost(id);
  leader.assertLeading();
  await storage.blobs.remove(names.active, id, { ifMatch: etag, signal });
  return undefined;
}

/** Whether any generation has a manifest. */
async function hasManifest({ storage, names, leader }: Term, id: string, uid: string): Promise<boolean> {
  const all = pagesOf(storage.blobs, names.results, resultBlobs(id, uid).root, { signal: leader.lost });
  for await (const { blobs } of all)
    if (blobs.some(({ name }) => name.endsWith("/manifest.json"))) return true;
  return false;
}

async function advanceOpen(run: TermRun, loop: Loop): Promise<void> {
  const { term, working, notes, listed, marker } = run;
  const time = timeOf(run);
  const share = loop.shares.get(listed.id);
  // They are sent before the next write, and so share its room.
  const owed = unsentTasks(run.chain.state(), notes).length;
  const seen = await poll(run, time, { pages: loop.pages, pagesMax: loop.pagesPerRun });
  if (seen.unlisted) loop.unlisted.add(listed.id);
  const draft = decide(working, seen, notes, { ...time, share, observed: loop.observed, owed });
  if (draft.ending !== undefined) {
    await close(run, draft.state, draft.ending, seen.manifest);
    term.runs.delete(listed.id);
    return;
  }
  const finishing = draft.state.phase === "finishing" && working.phase !== "finishing";
  if (finishing && !(await markerStands(run))) {
    loop.skipPause = true;
    return;
  }
  // What was adopted is older than this poll.
  if ((await perform(run, draft)) === "adopted") return;
  await sendMore(run, share);
  if (hasComeToRest(run.chain.state(), marker, { ...time, observed: loop.observed })) await layToRest(run);
}

function timeOf({ term, spec, listed }: TermRun): DecideTime {
  const limitMs = Math.min(term.packLimitMs, spec.packLimitMs ?? term.packLimitMs);
  return { nowMs: listed.nowMs, localMs: term.clock.monotonicMs(), limitMs };
}

/** A command that came between the list and the record of `finishing` must still count, so the marker is read again. */
async function markerStands({ term, listed }: TermRun): Promise<boolean> {
  const { storage, names, leader } = term;
  const now = await storage.blobs.head(names.active, listed.id, { signal: leader.lost });
  return now.kind === "found" && now.properties.etag === listed.etag;
}

/** Fills the window in rounds of sends and a state write; after a few of them the other runs have their turn. */
async function sendMore(run: TermRun, share: number | undefined): Promise<void> {
  for (let round = 1; round < limits.sendRoundsMax; round += 1) {
    const more = decideMore(run.working, run.notes, { ...timeOf(run), share });
    if (more.packs.length === 0 || (await perform(run, more)) === "adopted") return;
  }
}

/** Says on the marker that nobody has to lead for this command any more, or not until the deadline; the next command takes that back. */
async function layToRest(run: TermRun): Promise<void> {
  const { term, listed, marker, chain, spec } = run;
  const until = spec.deadline && deadlineMs(spec.deadline, chain.state());
  const { storage, names, leader } = term;
  if (run.notes.dirty && (await writeState(run, run.working)) === "adopted") return;
  leader.assertLeading();
  const metadata = encodeMarker({ ...marker, rests: marker.command, until });
  const options = { ifMatch: listed.etag, signal: leader.lost };
  const reply = await storage.blobs.setMetadata(names.active, listed.id, metadata, options);
  if (reply.kind === "replaced") term.runs.delete(listed.id);
}

async function executeDelete(term: Term, loop: Loop, marker: Marker, listed: ListedMarker): Promise<void> {
  if ((await beginDeletion(term, marker, listed.id)) === "begun")
    return continueDeletion(term, loop, marker.uid, listed);
  const { storage, names, leader } = term;
  leader.assertLeading();
  await storage.blobs.remove(names.active, listed.id, { ifMatch: listed.etag, signal: leader.lost });
}

async function continueDeletion(term: Term, loop: Loop, uid: string, listed: ListedMarker): Promise<void> {
  term.runs.delete(listed.id);
  if ((await deleteRun(term, listed, uid, loop.pages)) === "more") loop.skipPause = true;
}
