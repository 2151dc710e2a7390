import type { Embedded } from "../local/embedded.ts";
import { duration, type Style } from "../render/text.ts";

/** When the demo killed the leader, who took over, and whether the killed instance was restarted. */
export interface KillState {
  readonly killed?: LeaderTerm & { readonly atMs: number };
  readonly takeover?: LeaderTerm & { readonly afterMs: number; readonly atMs: number };
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
  /** As the record says it, which of a killed leader is true until another takes over. */
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
    const taken = { ...leader, afterMs: nowMs - killed.atMs, atMs: nowMs };
    return { step: "taken-over", state: { ...state, takeover: taken } };
  }
  const waitMs = instances === 1 || takeover !== undefined ? restartAfterMs : noTakeoverMs;
  if (state.restarted || nowMs - (takeover?.atMs ?? killed.atMs) < waitMs) return { state };
  return { step: "restart", state: { ...state, restarted: true } };
}

export type Tell = (text: string, style?: Style) => void;

/** Kills the leader, notes the takeover, or restarts the killed instance, whichever is due. */
export async function killAndRestart(
  { instances }: Embedded["instances"],
  facts: Omit<KillFacts, "instances">,
  before: KillState,
  tell: Tell,
): Promise<KillState> {
  const { step, state } = nextStep(before, { ...facts, instances: instances.length });
  const { killed, takeover } = state;
  const victim = instances.find((one) => one.name === killed?.name);
  if (step === "kill") {
    tell(`SIGKILL to ${killed?.name}, the leader of term ${killed?.term}`, "red");
    await victim?.kill();
  }
  if (step === "taken-over" && takeover !== undefined) {
    const after = `${duration(takeover.afterMs / 1_000)} without a leader`;
    tell(`${takeover.name} took over in term ${takeover.term}, after ${after}`, "green");
  }
  if (step === "restart") {
    tell(`${killed?.name} is restarted`);
    victim?.restart().then(
      () => tell(`${killed?.name} is back`, "green"),
      () => tell(`${killed?.name} did not restart`, "red"),
    );
  }
  return state;
}
