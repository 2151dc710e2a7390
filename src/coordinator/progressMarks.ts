import { packsOf } from "../model/packs.ts";
import type { ProgressMark, State } from "../model/state.ts";
import type { Draft } from "./draft.ts";

/** Marks kept: the first, the latest, and between them about one for each thirtieth of the packs. */
const marksBetween = 30;

/**
 * Notes how far a run is, for the time left: how many packs have ended when, and what they took. A generation begins
 * anew, so that only its own packs count. A pause or resume moves the marks on to now, as if the time between had
 * not been.
 */
export function markProgress({ state }: Pick<Draft, "state">, nowMs: number): void {
  const { layout, generation, turn, computeMs } = state;
  if (state.phase !== "computing" || layout === undefined) return;
  const now: ProgressMark = { atMs: nowMs, ended: state.packsDone + state.packsFailed, computeMs };
  const { progress } = state;
  const last = progress.marks.at(-1);
  if (last === undefined || progress.generation !== generation || now.ended < last.ended) {
    state.progress = { generation, turn, marks: [now] };
    return;
  }
  if (progress.turn !== turn) {
    for (const mark of progress.marks) mark.atMs += Math.max(0, nowMs - last.atMs);
    progress.turn = turn;
  }
  if (now.ended > last.ended) addMark(progress.marks, now, packsOf(layout));
}

/** The latest mark gives way to the next until a thirtieth of the packs lie behind it. */
function addMark(marks: State["progress"]["marks"], now: ProgressMark, packs: number): void {
  const [first = now] = marks;
  const [before, last] = [marks.at(-2), marks.at(-1)];
  const apart = (packs - first.ended) / marksBetween;
  if (before !== undefined && last !== undefined && last.ended - before.ended < apart) marks.pop();
  marks.push(now);
}
