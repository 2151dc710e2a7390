import { refusedTooLong } from "../../model/identity.ts";
import { limits } from "../../model/limits.ts";
import { isFinal, type State } from "../../model/state.ts";
import { lostAfterMs } from "../inFlight/judge.ts";
import type { RunNotes } from "../notes.ts";
import type { Seen, SeenOtherCode } from "../seen.ts";
import type { Draft } from "./draft.ts";

/**
 * Notes in the state that a run waits for its code, where the instances have other code and only enqueue its work again;
 * fails the run when nothing has ended for long. One instance with the right code is enough for a run to advance, so any
 * outcome and any heartbeat removes the note.
 */
export function trackRefused(draft: Draft, { otherCode }: Pick<Seen, "otherCode">): void {
  const { before, state, notes, at } = draft;
  const ended = endedOf(state);
  // A new leader continues with what the one before it wrote.
  notes.ended ??= { what: endedOf(before), atMs: before.otherCode?.sinceMs ?? at.nowMs };
  if (notes.ended.what !== ended) {
    forget(draft);
    notes.ended = { what: ended, atMs: at.nowMs };
  }
  if (otherCode === undefined) return;
  const fromMs = Math.max(
    at.nowMs - limits.identityNoteTrustMs,
    notes.ended.atMs - limits.identityNoteBeforeMs,
  );
  const told = otherCode.filter(({ generation, atMs }) => generation === state.generation && atMs >= fromMs);
  const quietMs = at.nowMs - notes.ended.atMs;
  const advances = quietMs < usualMs(state) || isAtWork(notes, at.nowMs);
  if (told.length === 0 || hasNothingToDo(state) || isFinal(state.phase) || advances) forget(draft);
  else note(draft, told);
  const refused = state.otherCode;
  // A pack that was begun by the right code may still come.
  if (refused === undefined || at.nowMs - refused.sinceMs <= limits.identityWaitMs + at.limitMs) return;
  draft.ending ??= { phase: "failed", error: { code: "other-code", message: refusedTooLong(refused) } };
}

function note(draft: Draft, told: readonly SeenOtherCode[]): void {
  const { state, at } = draft;
  const theirs = [...new Set(told.flatMap((one) => one.theirs ?? []))].sort();
  const needed = state.code ?? told[0]?.needed ?? "";
  const refused = state.otherCode;
  if (refused?.needed === needed && refused.theirs.join() === theirs.join()) return;
  state.otherCode = { needed, theirs, sinceMs: refused?.sinceMs ?? at.nowMs };
  draft.noted = true;
}

function forget(draft: Draft): void {
  if (draft.state.otherCode === undefined) return;
  delete draft.state.otherCode;
  draft.noted = true;
}

/** Grows with every outcome. */
function endedOf({ phase, packsDone, packsFailed, sealed, groups }: State): string {
  const nodes = [...Object.values(sealed), ...Object.values(groups)].filter(({ node }) => node).length;
  return `${phase} ${packsDone + packsFailed} ${nodes}`;
}

/** Where the right code computes beside other code, the next outcome or heartbeat comes within this. */
function usualMs(state: State): number {
  if (state.phase !== "computing" || state.layout === undefined) return 0;
  return state.durationsMs.length > 0 ? lostAfterMs(state) : 2 * state.layout.packMs + 1_000;
}

/** A pause holds packs back, but no task: where no instance has the code of one, a paused run would never come to rest. */
const hasNothingToDo = ({ paused, maxCostAtMs, inFlight, tasks }: State): boolean =>
  (paused || (maxCostAtMs !== undefined && inFlight === 0)) && Object.keys(tasks).length === 0;

/** A process has lately said that it has work of the run. */
const isAtWork = ({ computedMs }: RunNotes, nowMs: number): boolean =>
  nowMs - computedMs < limits.isolatedDeathMs;
