import type { State } from "../model/state.ts";
import { askForFinish, sealShards } from "./combine.ts";
import { takeCommand } from "./command.ts";
import type { Draft, Memory } from "./draft.ts";
import { trackFailures } from "./failures.ts";
import { askForPlan, fanOut } from "./fanOut.ts";
import { trackRate } from "./pace.ts";
import { resendAll, resendPacks, resendTasks } from "./resend.ts";
import type { Seen } from "./seen.ts";
import { trackNodes, trackParts, trackPlan } from "./track.ts";

/**
 * One decision about one run: what was seen goes in, the next state and the messages to send come out. Pure but
 * for `memory`, the leader's own notes. The order of the steps is the story of a run.
 */
export function decide(state: State, seen: Seen, memory: Memory, time: DecideTime): Draft {
  const draft: Draft = { state: structuredClone(state), packs: [], tasks: [], decided: false };
  const { newTurn } = takeCommand(draft, seen);
  trackPlan(draft, seen);
  trackParts(draft, seen);
  trackNodes(draft, seen);
  trackRate(draft, memory, time.localMs);
  if (seen.manifest !== undefined) draft.ending = { phase: "complete" };
  else trackFailures(draft, seen);
  if (draft.ending !== undefined) return draft;

  askForPlan(draft, time.nowMs);
  sealShards(draft, time.nowMs);
  askForFinish(draft, time.nowMs);
  if (newTurn && !draft.state.paused) resendAll(draft, time.nowMs);
  resendPacks(draft, memory, time);
  resendTasks(draft, time);
  fanOut(draft, memory, time.nowMs);
  pruneBatches(draft.state);
  if (draft.state.phase !== state.phase) memory.phaseSinceMs = time.localMs;
  return draft;
}

export interface DecideTime {
  /** Storage's time of the look. */
  readonly nowMs: number;
  /** This process's own monotonic time, for intervals. */
  readonly localMs: number;
  /** Time limit of one attempt of a pack. */
  readonly packLimitMs: number;
}

/** Send times kept: the oldest are joined under the later time, which only makes the leader more patient. */
const batchesKept = 40;

function pruneBatches(state: State): void {
  if (state.batches.length > batchesKept) state.batches.splice(0, state.batches.length - batchesKept);
}
