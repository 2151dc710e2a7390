import { limits } from "../model/limits.ts";
import { logEvents } from "../model/log.ts";
import type { Marker } from "../model/marker.ts";
import { resultBlobs, runBlobs } from "../model/runBlobs.ts";
import { isFinal, type State } from "../model/state.ts";
import { checkNamed, specLost } from "../model/storedSpec.ts";
import { pagesOf } from "../storage/callSteps.ts";
import { firstTasks } from "./decide/fanOut.ts";
import { newLists, newRunNotes, newSendNotes, taskKey } from "./notes.ts";
import { enlistBefore } from "./perform/enlist.ts";
import { takeOverState } from "./perform/stateChain.ts";
import { readSpec } from "./poll/poll.ts";
import {
  commit,
  type ListedMarker,
  type StateChain,
  type Submitted,
  type Term,
  type TermRun,
} from "./term.ts";

type Opened =
  /** A deletion is asked for. */
  | { readonly kind: "unwanted" }
  /** No spec belongs to the marker. */
  | { readonly kind: "stray" }
  /** It had ended, and only the clean-up is left. */
  | { readonly kind: "over"; readonly state: State; readonly submitted: Submitted }
  /** This term has made its first state: its tasks can be sent, and a poll has nothing to see yet. */
  | { readonly kind: "begun"; readonly run: TermRun }
  | { readonly kind: "open"; readonly run: TermRun };

/** The run of a marker as this term holds it, taken over first if need be. */
export async function openRun(term: Term, marker: Marker, listed: ListedMarker): Promise<Opened> {
  if (marker.want === "delete") return { kind: "unwanted" };
  const { id } = listed;
  const known = term.runs.get(id);
  if (known?.spec.uid === marker.uid && !isFinal(known.chain.state().phase)) {
    commit(known, { marker, listed });
    return { kind: "open", run: known };
  }
  term.runs.delete(id);
  const submitted = await readSpec(term, id);
  if (submitted?.spec.uid !== marker.uid) return { kind: "stray" };
  checkNamed("spec", id, submitted.sha256, marker.spec);
  const chain = await takeOver(term, marker, listed, submitted);
  const state = chain.state();
  if (isFinal(state.phase)) return { kind: "over", state, submitted };
  checkNamed("spec", id, submitted.sha256, state.spec);
  const { uid, phase, packsDone, paused } = state;
  const takenOver = { run: id, uid, term: term.leader.term, phase, packsDone, paused };
  term.log(logEvents.runTakenOver(takenOver));
  const run = newRun(term, chain, { ...submitted, marker, listed });
  term.runs.set(id, run);
  const isBegun = chain.created && Object.keys(state.tasks).length > 0;
  return { kind: isBegun ? "begun" : "open", run };
}

function takeOver(
  term: Term,
  marker: Marker,
  { id, nowMs, writtenMs }: ListedMarker,
  submitted: Submitted,
): Promise<StateChain> {
  const { spec, sha256 } = submitted;
  const isNew = nowMs - writtenMs < limits.newRunMs && marker.command === 0;
  const maxCost = marker.dollars ?? term.maxCost;
  const first = { ...firstTasks(marker, spec, nowMs), mix: spec.reuse?.codes, spec: sha256, maxCost };
  const beforeRetry = (ended: State) => enlistBefore(term, ended, submitted);
  return takeOverState(term, term.leader, { ...marker, id, nowMs, first, isNew, beforeRetry });
}

function newRun(
  term: Term,
  chain: StateChain,
  asked: Submitted & Pick<TermRun, "marker" | "listed">,
): TermRun {
  const working = chain.state();
  const localMs = term.clock.monotonicMs();
  const recorded = chain.created
    ? undefined
    : Object.keys(working.tasks).map((name) => taskKey(working, name));
  return {
    ...asked,
    term,
    chain,
    working,
    notes: newRunNotes(localMs, working.rate),
    lists: newLists(localMs),
    sendNotes: newSendNotes(localMs, recorded),
  };
}

/**
 * Removes a marker that a submit wrote after a deletion had gone past it. It is alone then: a state or a manifest without
 * a spec tells of a spec that was lost, and nobody asked to delete the rest. Throws `CorruptDataError`, which ends that run.
 */
export async function withdraw(term: Term, { uid }: Marker, { id, etag }: ListedMarker): Promise<void> {
  const { storage, names, leader } = term;
  const signal = leader.lost;
  const state = await storage.blobs.head(names.runs, runBlobs(id, uid).state, { signal });
  if (state.kind === "found" || (await hasManifest(term, id, uid))) throw specLost(id);
  leader.assertLeading();
  await storage.blobs.remove(names.active, id, { ifMatch: etag, signal });
}

/** Whether any generation has a manifest. */
async function hasManifest({ storage, names, leader }: Term, id: string, uid: string): Promise<boolean> {
  const all = pagesOf(storage.blobs, names.results, resultBlobs(id, uid).root, { signal: leader.lost });
  for await (const { blobs } of all)
    if (blobs.some(({ name }) => name.endsWith("/manifest.json"))) return true;
  return false;
}
