import type { Embedded } from "../../local/embedded.ts";
import { duration } from "../render/text.ts";
import type { Note } from "./screen.ts";
import type { Tracker } from "./tracker.ts";

/** When the demo killed the leader, who took over, and whether the killed instance was restarted. */
export interface KillState {
  readonly killed?: LeaderTerm & { readonly atMs: number };
  readonly takeover?: {
    readonly by: string;
    readonly term: number;
    readonly afterMs: number;
    readonly atMs: number;
  };
  readonly restarted: boolean;
}

interface LeaderTerm {
  readonly name: string;
  readonly term: number;
}

export interface KillFacts {
  readonly nowMs: number;
  /** Share of the packs that are done, 0 to 1. */
  readonly share: number;
  readonly leader: LeaderTerm | undefined;
  readonly instances: number;
}

export const noKillYet: KillState = { restarted: false };

const killShare = 0.4;
const restartAfterMs = 3_000;
/** The killed instance is restarted after this time if nobody takes over. */
const noTakeoverMs = 30_000;

/** Pure: the step that is due now, and the state after it. */
export function nextStep(
  state: KillState,
  { nowMs, leader, share, instances }: KillFacts,
): { readonly step?: "kill" | "taken-over" | "restart"; readonly state: KillState } {
  const { killed, takeover } = state;
  if (killed === undefined) {
    if (share < killShare || share >= 1 || leader === undefined) return { state };
    return { step: "kill", state: { ...state, killed: { ...leader, atMs: nowMs } } };
  }
  if (takeover === undefined && leader !== undefined && leader.term > killed.term) {
    const taken = { by: leader.name, term: leader.term, afterMs: nowMs - killed.atMs, atMs: nowMs };
    return { step: "taken-over", state: { ...state, takeover: taken } };
  }
  const waitMs = instances === 1 || takeover !== undefined ? restartAfterMs : noTakeoverMs;
  if (state.restarted || nowMs - (takeover?.atMs ?? killed.atMs) < waitMs) return { state };
  return { step: "restart", state: { ...state, restarted: true } };
}

export interface KillStage {
  readonly tracker: Tracker;
  readonly embedded: Embedded;
  readonly now: () => number;
  readonly note: (text: string, mood?: Note["mood"]) => void;
}

/** Kills the leader, notes the takeover, or restarts the killed instance, whichever is due. */
export async function killAndRestart(stage: KillStage, before: KillState): Promise<KillState> {
  const { tracker, now, note } = stage;
  const all = stage.embedded.instances.instances;
  const facts = { nowMs: now(), share: tracker.share(), leader: tracker.leader(), instances: all.length };
  const { step, state } = nextStep(before, facts);
  const { killed, takeover } = state;
  if (step === undefined || killed === undefined) return state;
  const { name, term } = killed;
  const victim = all.find((one) => one.name === name);
  if (step === "kill") {
    note(`SIGKILL to ${name}, the leader of term ${term}`, "bad");
    await victim?.kill();
  }
  if (step === "taken-over" && takeover !== undefined) {
    const after = `${duration(takeover.afterMs / 1_000)} without a leader`;
    note(`${takeover.by} took over in term ${takeover.term}, after ${after}`, "good");
  }
  if (step === "restart") {
    note(`${name} is restarted`);
    victim?.restart().then(
      () => note(`${name} is back`, "good"),
      () => note(`${name} did not restart`, "bad"),
    );
  }
  return state;
}
