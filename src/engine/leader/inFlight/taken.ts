import { limits } from "../../model/limits.ts";
import type { Sends, State } from "../../model/state.ts";
import { type Observed, type SeenQueue, turnKey, workKey } from "../seen.ts";

/** Which messages workers have taken, by what the first messages of the queues show (rule *observation*). */

/**
 * Notes up to which pack the messages of first sends were taken: those before the first one that the queues show. Where they
 * show none of this run, all have been taken, or those sent before the oldest messages that they do show.
 */
export function trackPacksTaken(state: State, { packs, urgent }: Observed, nowMs: number): void {
  if (state.phase !== "computing") return;
  const shown = packs.firstPack.get(turnKey(state));
  // A peek may have missed it before.
  for (const mark of state.taken) mark.upTo = Math.min(mark.upTo, shown ?? mark.upTo);
  const upTo = Math.min(state.cursor, shown ?? passedIn(state, packs), passedIn(state, urgent));
  if (upTo > takenUpTo(state)) state.taken.push({ upTo, atMs: nowMs });
}

/** Up to which pack a queue whose first messages show none of them holds none. */
function passedIn({ batches }: State, { full, oldestMs = 0 }: SeenQueue): number {
  if (!full) return Number.POSITIVE_INFINITY;
  // A batch was sent before the next one was decided.
  const sentBy = ({ atMs }: State["batches"][number], index: number) =>
    batches[index + 1]?.atMs ?? atMs + limits.sendMs;
  return batches.findLast((batch, index) => sentBy(batch, index) < oldestMs)?.upTo ?? 0;
}

export const takenUpTo = ({ taken }: State): number => taken.at(-1)?.upTo ?? 0;

export const takenAtMs = ({ taken }: State, pack: number): number | undefined =>
  taken.find(({ upTo }) => pack < upTo)?.atMs;

/** The same for a task or a resent pack, each of which has a message of its own. */
export function trackMessageTaken(
  sends: Sends,
  of: { readonly state: State; readonly name: string; readonly observed: Observed; readonly nowMs: number },
): void {
  const { waiting, full, oldestMs = 0 } = of.observed.urgent;
  const waits = waiting.has(workKey(of.state, of.name)) || (full && sends.sentMs + limits.sendMs >= oldestMs);
  if (waits) delete sends.takenMs;
  else sends.takenMs ??= of.nowMs;
}
