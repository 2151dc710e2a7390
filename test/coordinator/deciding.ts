import { decide } from "../../src/coordinator/decide/decide.ts";
import { type Draft, type Memory, taskMessage, unsentTasks } from "../../src/coordinator/decide/draft.ts";
import { silentAfterMs } from "../../src/coordinator/decide/resend.ts";
import type { Seen } from "../../src/coordinator/look/seen.ts";
import { firstState, type State } from "../../src/model/state.ts";
import { memory, seen } from "../support/runFixtures.ts";

/** When the tests of the decisions begin, storage's time; `afterMs` counts from here. */
export const startMs = 1_000_000;
export const limitMs = 300_000;
/** Silence for longer than this is answered by another send. */
export const silentMs = silentAfterMs({ limitMs });

export const first = () => firstState({ run: "r", uid: "u", generation: 1, cap: 2000, nowMs: startMs });

/** Decides once, `afterMs` after the start, after a look at all there is: failures were listed in it too. */
export function step(state: State, found: Partial<Seen> = {}, mind: Memory = memory(), afterMs = 0): Draft {
  mind.failuresMs = afterMs;
  mind.failuresAtMs = found.nowMs ?? startMs + afterMs;
  return decideOn(state, found, mind, afterMs);
}

/** The same without a list of failures. */
export function decideOn(state: State, found: Partial<Seen>, mind: Memory, afterMs: number): Draft {
  const what = seen({ nowMs: startMs + afterMs, ...found });
  return decide(state, what, mind, { nowMs: what.nowMs, localMs: afterMs, limitMs });
}

/** The tasks that are sent once this decision is confirmed. */
export const tasksOf = ({ state }: Pick<Draft, "state">, mind: Memory = memory()) =>
  unsentTasks(state, mind).map((name) => {
    const { kind, send } = taskMessage(state, name, false);
    return { kind, send };
  });

/** As `perform` leaves the state once every task was put. */
export const allSent = (state: State): State => ({
  ...state,
  tasks: Object.fromEntries(
    Object.entries(state.tasks).map(([name, task]) => [name, { ...task, sent: true }]),
  ),
});
