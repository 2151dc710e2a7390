import { tagsText } from "../../model/figures.ts";
import { logEvents } from "../../model/log.ts";
import { differenceFrom, manifestDiffers } from "../../model/manifestFits.ts";
import { indexesOf, shardsOf } from "../../model/packs.ts";
import { plannedChunks } from "../../model/prefixes.ts";
import type { Manifest } from "../../model/run.ts";
import { spentOf } from "../../model/spent.ts";
import { isFinal, type State } from "../../model/state.ts";
import { topLevel } from "../../model/tree.ts";
import type { Ending } from "../decide/draft.ts";
import { cleanupMessage } from "../decide/messages.ts";
import { manifestOrNone } from "../poll/poll.ts";
import type { ListedMarker, Submitted, Term, TermRun } from "../term.ts";
import { type Ended, enlist } from "./enlist.ts";
import { assertLegalMove, writeState } from "./perform.ts";
import { sendAll } from "./send.ts";

/**
 * Ends a run: final state, clean-up, marker last. Before any final state but `complete` the manifest is read once more,
 * because a finisher that was given up may have written it; if it is there and fits, the run is complete
 * (rule *close*).
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
  const next: State = { ...state, phase, tasks: {}, resent: {}, batches: [], updatedMs: nowMs };
  next.finishedMs = nowMs;
  if (difference !== undefined) next.refused = [...(next.refused ?? []), next.generation];
  const refused = difference !== undefined && ending.phase === "complete";
  const error = refused ? manifestDiffers(difference) : ending.error;
  if (phase === "failed" && error !== undefined) next.error = error;
  assertLegalMove(before, next);
  if ((await writeState(run, next)) === "adopted") return;
  logEnd(term, next, nowMs - next.createdMs, run);
  await cleanUp(term, listed, { state: next, submitted: run, manifest });
}

/** `submitted` is absent where the spec does not decode. */
export function logEnd({ log }: Term, state: State, ms: number, submitted: Submitted | undefined): void {
  const spec = submitted?.spec;
  const { run, uid, phase, packsDone: packs, resends, error } = state;
  const tags = spec?.tags && tagsText(spec.tags);
  const of = { calculation: spec?.calculation, tags, by: spec?.by, dollars: spentOf(state).cost.dollars };
  log(logEvents.runEnded({ run, uid, phase, ms, packs, resends, ...of, error: error?.message }));
}

/** Does what follows a final state. Any later leader that still finds the marker does it again. */
export async function cleanUp(term: Term, listed: ListedMarker, ended: Ended): Promise<void> {
  const { state, manifest } = ended;
  if (!isFinal(state.phase)) return;
  const { leader, storage, names } = term;
  // Runs after it may reuse its partials.
  const keeps = ended.submitted?.spec.keepPartials === true;
  await Promise.all([
    enlist(term, ended),
    manifest?.complete === true && state.phase === "complete" && !keeps
      ? sendCleanup(term, state)
      : undefined,
  ]);
  leader.assertLeading();
  await storage.blobs.remove(names.active, listed.id, { ifMatch: listed.etag, signal: leader.lost });
}

async function sendCleanup(term: Term, state: State): Promise<void> {
  const { layout } = state;
  if (layout === undefined) return;
  // Of a run that stopped, what was computed beyond goes too.
  const chunks = plannedChunks(layout, state);
  const shards = indexesOf({ from: 0, to: shardsOf({ ...layout, chunks }) });
  const nodes = topLevel({ ...layout, chunks }) > 0 ? [undefined] : [];
  const message = (shard: number | undefined) => ({ message: cleanupMessage(state, shard), urgent: false });
  await sendAll(term, [...shards, ...nodes].map(message));
}
