import { encodeBitmap, setBit } from "../../model/bitmap.ts";
import { failRunCode, inputsChanged, planLost } from "../../model/errors.ts";
import { hasOutcome, outcomesOf } from "../../model/outcomes.ts";
import { chunksOfPack, chunksText, type Layout, shardOf } from "../../model/packs.ts";
import { plannedChunks } from "../../model/prefixes.ts";
import { type Spec, toleratedChunks } from "../../model/run.ts";
import { parseWorkName, workName } from "../../model/runBlobs.ts";
import type { State } from "../../model/state.ts";
import { prefixAt } from "../../model/tree.ts";
import { type Draft, layoutOf, roomToWrite, sendsOf } from "../decide/draft.ts";
import { shardsThatCount } from "../decide/earlyStop.ts";
import { affordsResend } from "../decide/maxCost.ts";
import { bitsOf, countsBelow, tally } from "../decide/track.ts";
import { addEnded } from "../decide/wasted.ts";
import type { Seen, SeenFailure } from "../seen.ts";
import { verdictOf, whyFailed } from "./judge.ts";
import { lastSend, resendEnded, resendEndedTask } from "./resend.ts";

/**
 * What follows from failure records, in four steps of `decide`: what is told of attempts that others follow (`trackTried`); whether
 * code ends its run (`endIfAsked`); for each piece of work another send, its failure, or nothing yet (`trackEndedSends`, by
 * `verdictOf`); and whether more chunks have failed than the run tolerates (`checkTolerance`).
 *
 * A send ends with its output or with a record. Silence is never a failure.
 */

const recordsOf = ({ state }: Draft, { failures }: Seen): readonly SeenFailure[] =>
  failures.filter(({ generation }) => generation === state.generation);

/** Work has failed when all of its sends that are waited for have ended without output. */
export function trackEndedSends(draft: Draft, seen: Seen): void {
  const { state } = draft;
  const hasEnded = state.layout && hasOutcome(state, state.layout);
  // Where the other chunks of a pack have a partial, that is its outcome, and the record only tells why it has gaps.
  const ended = recordsOf(draft, seen).filter(({ gaps }) => gaps === undefined);
  for (const [name, records] of Map.groupBy(ended, ({ work }) => workName(work))) {
    records.sort((a, b) => a.send - b.send);
    const work = records[0]?.work;
    if (work?.kind === "pack") {
      const sent = state.phase === "computing" && work.pack < state.cursor;
      if (sent && hasEnded?.(work.pack) === false) trackPack(draft, work.pack, records, seen.spec);
      continue;
    }
    const task = state.tasks[name];
    if (task === undefined || work === undefined) continue;
    const verdict = verdictOf(records, task);
    if (verdict.kind === "fail") {
      const lost = records.find(({ cause }) => cause === "storage-lost");
      const asks = state.layout && work.kind === "node" && prefixAt(state.layout, work.level, work.index);
      const code = lost ? codeOfLoss(lost) : `${asks ? "stop" : work.kind}-failed`;
      draft.ending ??= { phase: "failed", error: { code, message: verdict.why } };
    } else if (verdict.kind === "replace") resendEndedTask(draft, task, records, verdict);
  }
  tally(state);
  if (state.trying !== undefined && isOver(state, state.trying.work)) delete state.trying;
}

const codeOfLoss = ({ code }: SeenFailure): string => (code === planLost ? planLost : "storage-lost");

/** Code that says `failRun` ends the run, whatever it tolerates and whatever else ended the same work. */
export function endIfAsked(draft: Draft, seen: Seen): void {
  // What failed beyond the next prefix fails no run that stops before.
  const counting = shardsThatCount(draft.state);
  const asked = recordsOf(draft, seen).find(
    ({ code, work }) => code === failRunCode && (work.kind !== "pack" || work.shard < counting),
  );
  if (asked === undefined) return;
  draft.ending ??= { phase: "failed", error: { code: "calculation-failed", message: asked.message } };
}

/** Whether no further attempt at a piece of work is to come. */
function isOver(state: State, work: string): boolean {
  const piece = parseWorkName(work);
  if (piece?.kind !== "pack") return !(work in state.tasks);
  return state.layout === undefined || hasOutcome(state, state.layout)(piece.pack);
}

/** Takes over which attempts threw while others of their send are to come. */
export function trackTried(draft: Draft, { tried }: Seen): void {
  const { state } = draft;
  for (const { work, generation, code, message, attempts, attemptsMax } of tried) {
    if (generation !== state.generation) continue;
    const name = workName(work);
    if (isOver(state, name)) continue;
    if (state.trying?.work === name && state.trying.attempts >= attempts) continue;
    state.trying = { work: name, code, message, attempts, attemptsMax };
    draft.noted = true;
  }
}

function trackPack(draft: Draft, pack: number, records: readonly SeenFailure[], { tolerate }: Spec): void {
  const { state } = draft;
  const made = sendsOf(state, pack);
  const layout = layoutOf(state);
  const most = toleratedChunks(tolerate, plannedChunks(layout, state));
  const tolerated = most - failedThatCount(state, layout);
  const verdict = verdictOf(records, made, { chunks: chunksOfPack(layout, pack), tolerated });
  if (verdict.kind === "fail") {
    addEnded(draft, records, made.awaitedFrom);
    markFailed(draft, pack);
  } else if (verdict.kind === "replace") {
    if (state.paused || state.keep === true || roomToWrite(draft) <= 0 || !affordsResend(draft)) return;
    resendEnded(draft, pack, records, verdict);
  } else {
    const send = lastSend(made, records);
    if (send > made.send) state.resent[pack] = { ...made, send };
  }
}

function markFailed(draft: Draft, pack: number): void {
  const { state } = draft;
  const layout = layoutOf(state);
  const shard = shardOf(layout, pack);
  const open = state.open[shard];
  if (open === undefined || open.recount) return;
  const { packs, failed } = bitsOf(layout, shard, open);
  setBit(failed, pack - packs.from);
  open.failed = encodeBitmap(failed);
  delete state.resent[pack];
  draft.decided = true;
}

/** The chunks that have failed in the shards that count by now. */
function failedThatCount(state: State, layout: Layout): number {
  const counting = shardsThatCount(state);
  return counting < Number.POSITIVE_INFINITY
    ? countsBelow(state, layout, counting).chunksFailed
    : state.chunksFailed;
}

/** Past it the run fails at once, and says why the first pack did. */
export function checkTolerance(draft: Draft, seen: Seen): void {
  const { state, notes } = draft;
  const { layout } = state;
  if (layout === undefined || state.keep === true) return;
  const { tolerate } = seen.spec;
  const failures = recordsOf(draft, seen);
  const tolerated = toleratedChunks(tolerate, plannedChunks(layout, state));
  // What failed beyond the next prefix fails no run that stops before.
  const counting = shardsThatCount(state);
  if (failedThatCount(state, layout) <= tolerated) return;
  // A record of a pack that another send completed, or may yet, is no reason.
  const first = failures.find(
    ({ work, gaps }) =>
      work.kind === "pack" &&
      work.shard < counting &&
      (gaps !== undefined || outcomesOf(state, layout, work.shard)?.(work.pack) === "failed"),
  );
  // What failed was counted by a partial with gaps, or before its turn, and the records were not listed in this poll.
  if (first === undefined && seen.otherCode === undefined) {
    notes.listFailures = true;
    draft.undecided = true;
    return;
  }
  const pack = first?.work.kind === "pack" ? first.work.pack : undefined;
  const records = failures.filter(({ work }) => work.kind === "pack" && work.pack === pack);
  const { why, named = false } = whyFailed(records) ?? { why: first?.message ?? "", ...first };
  // What tells no chunks happened to the whole pack.
  const where = named || pack === undefined ? "" : `${chunksText(chunksOfPack(layout, pack))}: `;
  // A pack without a partial counts whole, whichever of its chunks failed: the true number may be lower.
  const all =
    tolerated === 0 ? "" : `more than ${tolerated} of ${plannedChunks(layout, state)} chunks failed`;
  const message = [all, `${where}${why}`].filter((text) => text !== "").join("; ") || "a chunk failed";
  // A retry would meet the same inputs, and the same lack of a plan.
  const code =
    first?.code === "file-changed" ? inputsChanged : first?.code === planLost ? planLost : "pack-failed";
  draft.ending ??= { phase: "failed", error: { code, message } };
}
