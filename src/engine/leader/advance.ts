import { limits } from "../model/limits.ts";
import { decodeMarker, encodeMarker } from "../model/marker.ts";
import { encodeWake, wakeFromLeader } from "../model/message.ts";
import { deadlineMs } from "../model/state.ts";
import { restsUntil } from "./decide/command.ts";
import { decide, decideMore } from "./decide/decide.ts";
import type { DecideAt, Share } from "./decide/draft.ts";
import { pollCallsOf } from "./decide/pollCalls.ts";
import { deleteAsked } from "./deletion/deleteRun.ts";
import { openRun, withdraw } from "./openRun.ts";
import { cleanUp, close } from "./perform/close.ts";
import { perform, sendTasks, writeState } from "./perform/perform.ts";
import { handleRunError } from "./perform/runErrors.ts";
import { manifestOrNone, poll } from "./poll/poll.ts";
import type { Observed } from "./seen.ts";
import { commit, type ListedMarker, type PageBudget, type Term, type TermRun } from "./term.ts";

/** What all runs share in one loop of a leader. */
export interface Loop {
  readonly pages: PageBudget;
  /** Pages for the partials of one run, so that a large one leaves some to those beside it. */
  pagesPerRun: number;
  readonly shareOf: (run: string) => Share;
  /** What workers and queues tell, where they were read in this loop. */
  readonly observed: Observed | undefined;
  /** Runs for which no page was left in this loop; they come first in the next. */
  readonly unlisted: Set<string>;
  /** Set if the next loop must follow without a pause. */
  skipPause: boolean;
}

/** Advances one run by one step. Its failure stays its own; only what ends the term is thrown on. */
export async function advance(term: Term, loop: Loop, listed: ListedMarker): Promise<void> {
  try {
    const marker = decodeMarker(listed.metadata, listed.id);
    const opened = await openRun(term, marker, listed);
    switch (opened.kind) {
      case "unwanted":
        term.runs.delete(listed.id);
        if ((await deleteAsked(term, marker, listed, loop.pages)) === "more") loop.skipPause = true;
        break;
      case "stray":
        await withdraw(term, marker, listed);
        break;
      case "over":
        await cleanUp(term, listed, { ...opened, manifest: await manifestOrNone(term, opened.state) });
        break;
      case "begun":
        await sendTasks(opened.run, opened.run.working);
        break;
      case "open":
        await advanceOpen(opened.run, loop);
        // A poll that had nothing to write says nothing of the writes that failed before.
        if (!opened.run.sendNotes.dirty) term.backoff.clear(listed);
    }
  } catch (error) {
    await handleRunError(term, listed, error);
  }
}

/** Want, poll, decide, perform. */
async function advanceOpen(run: TermRun, loop: Loop): Promise<void> {
  const { term, listed, marker } = run;
  const at = decideAtOf(run, loop);
  const seen = await poll(run, pollCallsOf(run, at), at, { pages: loop.pages, pagesMax: loop.pagesPerRun });
  commit(run, { lists: seen.lists });
  if (seen.unlisted) loop.unlisted.add(listed.id);
  const draft = decide(run, seen, at);
  if (draft.ending !== undefined) {
    await close(run, draft.state, draft.ending, seen.manifest);
    term.runs.delete(listed.id);
    // With the last one the term ends, unless another has come.
    if (term.runs.size === 0) loop.skipPause = true;
    return;
  }
  const finishing = draft.state.phase === "finishing" && run.working.phase !== "finishing";
  if (finishing && !(await markerStands(run))) {
    loop.skipPause = true;
    return;
  }
  // What was adopted is older than this poll.
  if ((await perform(run, draft)) === "adopted") return;
  await sendMore(run, loop);
  const untilMs = restsUntil(run.chain.state(), marker, at, run.notes);
  if (untilMs !== undefined) await layToRest(run, untilMs);
}

function decideAtOf({ term, spec, listed }: TermRun, { shareOf, observed }: Loop): DecideAt {
  const limitMs = Math.min(term.packLimitMs, spec.packLimitMs ?? term.packLimitMs);
  const { id, nowMs } = listed;
  return { nowMs, localMs: term.clock.monotonicMs(), limitMs, share: shareOf(id), observed };
}

/** A command that came between the list and the record of `finishing` must still count, so the marker is read again. */
async function markerStands({ term, listed }: TermRun): Promise<boolean> {
  const { storage, names, leader } = term;
  const now = await storage.blobs.head(names.active, listed.id, { signal: leader.lost });
  return now.kind === "found" && now.properties.etag === listed.etag;
}

/** Fills the window in rounds of sends and a state write; after a few of them the other runs have their turn. */
async function sendMore(run: TermRun, loop: Loop): Promise<void> {
  for (let round = 1; round < limits.sendRoundsMax; round += 1) {
    const more = decideMore(run, decideAtOf(run, loop));
    if (more.packs.length === 0 || (await perform(run, more)) === "adopted") return;
  }
}

/**
 * Says on the marker that nobody has to lead for this command any more, or not until then or the deadline; the next command takes
 * that back. What waits is met by a leader again: the wake comes with it, and the next tick if that is lost.
 */
async function layToRest(run: TermRun, untilMs: number): Promise<void> {
  const { term, listed, marker, chain, spec } = run;
  const endsMs = spec.deadline ? deadlineMs(spec.deadline, chain.state()) : Number.POSITIVE_INFINITY;
  const earliestMs = Math.min(untilMs, endsMs);
  const until = earliestMs < Number.POSITIVE_INFINITY ? earliestMs : undefined;
  const { storage, names, leader } = term;
  if (run.sendNotes.dirty && (await writeState(run, run.working)) === "adopted") return;
  leader.assertLeading();
  const metadata = encodeMarker({ ...marker, rests: marker.command, until });
  const options = { ifMatch: listed.etag, signal: leader.lost };
  const reply = await storage.blobs.setMetadata(names.active, listed.id, metadata, options);
  if (reply.kind !== "replaced") return;
  term.runs.delete(listed.id);
  if (marker.want === "paused" || until === undefined) return;
  const visibleInS = Math.ceil((until - listed.nowMs) / 1_000) + 1;
  await storage.queues.send(names.wake, encodeWake(wakeFromLeader), { visibleInS }).catch(() => {});
}
