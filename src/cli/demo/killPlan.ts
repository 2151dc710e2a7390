/** When the demo kills the leader, and when it starts it again. Pure: time and facts are arguments. */
export interface KillPlan {
  readonly killed?: Killed | undefined;
  readonly takeover?: {
    readonly by: string;
    readonly term: number;
    readonly afterMs: number;
    readonly atMs: number;
  };
  readonly restarted: boolean;
}

export interface Killed {
  readonly name: string;
  readonly term: number;
  readonly atMs: number;
}

export interface KillFacts {
  readonly nowMs: number;
  /** Of the packs, 0 to 1. */
  readonly share: number;
  readonly leader: { readonly name: string; readonly term: number } | undefined;
  readonly instances: number;
}

export type KillStep = "kill" | "taken-over" | "restart";

export const noKillYet: KillPlan = { restarted: false };

const killShare = 0.4;
const restartAfterMs = 3_000;
/** Should nobody take over, another instance is at least no hindrance. */
const giveUpMs = 30_000;

/** What is due now, and the plan after it. */
export function nextStep(
  plan: KillPlan,
  facts: KillFacts,
): { readonly step?: KillStep; readonly plan: KillPlan } {
  const { nowMs, leader } = facts;
  const { killed, takeover } = plan;
  if (killed === undefined) {
    if (facts.share < killShare || facts.share >= 1 || leader === undefined) return { plan };
    return { step: "kill", plan: { ...plan, killed: { ...leader, atMs: nowMs } } };
  }
  if (takeover === undefined && leader !== undefined && leader.term > killed.term) {
    const taken = { by: leader.name, term: leader.term, afterMs: nowMs - killed.atMs, atMs: nowMs };
    return { step: "taken-over", plan: { ...plan, takeover: taken } };
  }
  if (plan.restarted) return { plan };
  const waitsMs = facts.instances === 1 || takeover !== undefined ? restartAfterMs : giveUpMs;
  if (nowMs - (takeover?.atMs ?? killed.atMs) < waitsMs) return { plan };
  return { step: "restart", plan: { ...plan, restarted: true } };
}
