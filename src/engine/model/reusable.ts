import type { Reuse } from "./reuse.ts";
import type { Spec } from "./run.ts";
import { isFinal, type State } from "./state.ts";

/** What an ended run has to give to one that is to reuse it, or why it has nothing. Its plan worker compares the rest. */
export function reusableOf(
  { run, reuse }: Pick<Spec, "run" | "reuse">,
  state: State | undefined,
): Reuse | string {
  if (state === undefined || !isFinal(state.phase)) return `run ${run} has not ended`;
  const { uid, plan, reused = [] } = state;
  if (plan === undefined) return `run ${run} was never planned`;
  if (state.phase === "complete" && state.chunksFailed === 0 && reuse === undefined)
    return `run ${run} is complete and kept no partials: only runs submitted with reuse do`;
  const keeps = [...new Set([run, ...reused.map((one) => one.run)])];
  return { from: { run, uid, plan }, keeps };
}
