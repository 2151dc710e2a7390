import { refusedTooLong } from "../../model/identity.ts";
import { limits } from "../../model/limits.ts";
import { isFinal, type State } from "../../model/state.ts";
import type { Seen, SeenOtherCode } from "../look/seen.ts";
import type { DecideTime } from "./decide.ts";
import type { Draft, Memory } from "./draft.ts";
import { outOfOrderMs, stragglerAfterMs } from "./pace.ts";

/**
 * Says of a run whose work is only ever enqueued again, because the instances have other code, that it waits and for
 * what; and fails it when nothing has ended for long. One instance with the right code is enough for a run to go on, so
 * any outcome and any sign of life takes it back.
 */
export function trackRefused(
  draft: Draft,
  memory: Memory,
  { otherCode, nowMs }: Pick<Seen, "otherCode" | "nowMs">,
  time: Pick<DecideTime, "limitMs">,
): void {
  const { state } = draft;
  const ended = endedOf(state);
  if (memory.ended?.what !== ended) {
    const isNew = memory.ended === undefined;
    if (!isNew) takeBack(draft);
    // A new leader goes on with what the one before it wrote.
    memory.ended = { what: ended, atMs: (isNew ? state.otherCode?.sinceMs : undefined) ?? nowMs };
  }
  if (otherCode === undefined) return;
  const told = otherCode.filter(
    ({ generation, atMs }) => generation === state.generation && nowMs - atMs <= limits.identityNoteTrustMs,
  );
  const quietMs = nowMs - memory.ended.atMs;
  const goesOn = quietMs < usualMs(state, time.limitMs) || isAtWork(memory, nowMs);
  if (told.length === 0 || state.paused || isFinal(state.phase) || goesOn) takeBack(draft);
  else note(draft, told, nowMs);
  const refused = state.otherCode;
  // A pack that was begun by the right code may still come.
  if (refused === undefined || nowMs - refused.sinceMs <= limits.identityWaitMs + time.limitMs) return;
  draft.ending ??= { phase: "failed", error: { code: "other-code", message: refusedTooLong(refused) } };
}

function note(draft: Draft, told: readonly SeenOtherCode[], nowMs: number): void {
  const { state } = draft;
  const theirs = [...new Set(told.flatMap((one) => one.theirs ?? []))].sort();
  const wanted = state.code ?? told[0]?.wanted ?? "";
  const refused = state.otherCode;
  if (refused?.wanted === wanted && refused.theirs.join() === theirs.join()) return;
  state.otherCode = { wanted, theirs, sinceMs: refused?.sinceMs ?? nowMs };
  draft.noted = true;
}

function takeBack(draft: Draft): void {
  if (draft.state.otherCode === undefined) return;
  delete draft.state.otherCode;
  draft.noted = true;
}

/** Grows with every outcome. */
function endedOf({ phase, packsDone, packsFailed, sealed, groups }: State): string {
  const nodes = [...Object.values(sealed), ...Object.values(groups)].filter(({ node }) => node).length;
  return `${phase} ${packsDone + packsFailed} ${nodes}`;
}

/** Where the right code computes beside other code, the next outcome comes within this. */
function usualMs(state: State, limitMs: number): number {
  if (state.phase !== "computing" || state.layout === undefined) return 0;
  return state.durationsMs.length > 0
    ? stragglerAfterMs(state, limitMs) + outOfOrderMs(state)
    : 2 * state.layout.packMs + 1_000;
}

/** Plan, combine and finish say so while they work. */
const isAtWork = ({ aliveMs }: Memory, nowMs: number): boolean =>
  [...aliveMs.values()].some((atMs) => nowMs - atMs < 3 * limits.taskLifeEveryMs);
