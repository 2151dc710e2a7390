import { addCalls, decodeCalls } from "../../model/calls.ts";
import { logEvents } from "../../model/log.ts";
import { differenceFrom, manifestDiffers } from "../../model/manifestFits.ts";
import { shardsOf } from "../../model/packs.ts";
import type { Manifest } from "../../model/run.ts";
import { isFinal, type State } from "../../model/state.ts";
import { topLevel } from "../../model/tree.ts";
import type { Ending } from "../decide/draft.ts";
import { cleanupMessage } from "../decide/messages.ts";
import { readManifest, unlessCorrupt } from "../poll/poll.ts";
import type { ListedMarker, Term, TermRun } from "../term.ts";
import { assertLegalMove } from "./perform.ts";
import { sendAll } from "./send.ts";

/**
 * Ends a run: final state, clean-up, marker last. Before any final state but `complete` the manifest is read once more,
 * because a finisher that was given up may have written it; if it is there and fits, the run is complete
 * (docs/ARCHITECTURE.md, rule 9).
 *
 * A manifest that tells of other chunks than the leader has counted comes from a forged message: the run is not
 * complete by it, and the state notes its generation, so that nobody is given its result.
 */
export async function close(
  run: TermRun,
  state: State,
  ending: Ending,
  polled?: Manifest | undefined,
): Promise<void> {
  const { term, chain, listed } = run;
  const before = chain.state();
  term.leader.assertLeading();
  const found = polled ?? (await manifestOrNone(term, before));
  const difference = found === undefined ? undefined : differenceFrom(state, found);
  const manifest = difference === undefined ? found : undefined;
  const phase = manifest !== undefined ? "complete" : ending.phase === "complete" ? "failed" : ending.phase;
  const { nowMs } = listed;
  const next: State = { ...state, phase, tasks: {}, again: {}, batches: [], updatedMs: nowMs };
  next.finishedMs = nowMs;
  if (manifest !== undefined) next.calls = addCalls(next.calls, decodeCalls(manifest.calls));
  if (difference !== undefined) next.refused = [...(next.refused ?? []), next.generation];
  const refused = difference !== undefined && ending.phase === "complete";
  const error = refused ? manifestDiffers(difference) : ending.error;
  if (phase === "failed" && error !== undefined) next.error = error;
  assertLegalMove(before, next);
  const outcome = await chain.write(next);
  run.working = chain.state();
  if (outcome === "adopted") return;
  logEnd(term, next, nowMs - next.createdMs, next.error?.message);
  await cleanUp(term, listed, next, manifest);
}

export function logEnd(
  { log }: Term,
  { run, uid, phase, packsDone: packs, sentAgain }: State,
  ms: number,
  error?: string | undefined,
): void {
  const ended = { run, uid, phase, ms, packs, sentAgain };
  log(logEvents.runEnded(error === undefined ? ended : { ...ended, error }));
}

/** The manifest, or none where it is missing or does not decode: then there is no result that anyone could read. */
export const manifestOrNone = (term: Term, state: State): Promise<Manifest | undefined> =>
  unlessCorrupt(() => readManifest(term, state));

/** Does what follows a final state. Any later leader that still finds the marker does it again. */
export async function cleanUp(
  term: Term,
  listed: ListedMarker,
  state: State,
  manifest: Manifest | undefined,
): Promise<void> {
  if (!isFinal(state.phase)) return;
  const { leader, storage, names } = term;
  const { layout } = state;
  if (state.phase === "complete" && manifest?.complete === true && layout !== undefined) {
    const shards = Array.from({ length: shardsOf(layout) }, (_, shard) => shard);
    const nodes = topLevel(layout) > 0 || state.origin !== undefined ? [undefined] : [];
    const sends = [...shards, ...nodes].map((shard) => ({
      message: cleanupMessage(state, shard),
      urgent: false,
    }));
    await sendAll(term, sends);
  }
  leader.assertLeading();
  await storage.blobs.remove(names.active, listed.id, { ifMatch: listed.etag, signal: leader.lost });
}
