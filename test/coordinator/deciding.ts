import { decide } from "../../src/coordinator/decide/decide.ts";
import {
  type DecideAt,
  type Draft,
  newDraft,
  type RunNotes,
  unsentTasks,
} from "../../src/coordinator/decide/draft.ts";
import { taskMessage } from "../../src/coordinator/decide/messages.ts";
import { silentAfterMs } from "../../src/coordinator/decide/pace.ts";
import type { Seen } from "../../src/coordinator/poll/seen.ts";
import { firstState, type State } from "../../src/model/state.ts";
import { runNotes, seen } from "../support/runFixtures.ts";

/** When the tests of the decisions begin, storage's time; `afterMs` counts from here. */
export const startMs = 1_000_000;
export const limitMs = 300_000;
/** Silence for longer than this is answered by another send. */
export const silentMs = silentAfterMs({ limitMs });

export const first = () => firstState({ run: "r", uid: "u", generation: 1, cap: 2000, nowMs: startMs });

/** Decides once, `afterMs` after the start, after a poll of all there is: failures were listed in it too. */
export function step(
  state: State,
  found: Partial<Seen> = {},
  notes: RunNotes = runNotes(),
  afterMs = 0,
  more: Partial<DecideAt> = {},
): Draft {
  notes.failuresMs = afterMs;
  notes.failuresAtMs = startMs + afterMs;
  return decideOn(state, found, notes, afterMs, more);
}

/** The same without a list of failures. */
export function decideOn(
  state: State,
  found: Partial<Seen>,
  notes: RunNotes,
  afterMs: number,
  more: Partial<DecideAt> = {},
): Draft {
  return decide(state, seen(found), notes, {
    ...{ nowMs: startMs + afterMs, localMs: afterMs, limitMs },
    ...more,
  });
}

/** A draft of nothing yet, for tests of single steps. */
export const draftOf = (state: State, notes = runNotes(), nowMs = startMs): Draft =>
  newDraft(state, notes, { nowMs, localMs: 0, limitMs });

/** The tasks that are sent once this decision is confirmed. */
export const tasksOf = ({ state }: Pick<Draft, "state">, notes: RunNotes = runNotes()) =>
  unsentTasks(state, notes).map((name) => {
    const { kind, send } = taskMessage(state, name);
    return { kind, send };
  });

/** As `perform` leaves the state once every task was sent. */
export const allSent = (state: State): State => ({
  ...state,
  tasks: Object.fromEntries(
    Object.entries(state.tasks).map(([name, task]) => [name, { ...task, sent: true }]),
  ),
});
