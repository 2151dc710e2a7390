import type { Spec } from "./run.ts";
import { isFinal, type State } from "./state.ts";

/** Why a run has no partials to give to one that is to reuse it; undefined if it has. Workers compare the rest. */
export function nothingToReuse(
  { run, keepPartials }: Pick<Spec, "run" | "keepPartials">,
  state: State | undefined,
): string | undefined {
  if (state === undefined || !isFinal(state.phase)) return `run ${run} has not ended`;
  if (state.plan === undefined) return `run ${run} was never planned`;
  if (state.phase === "complete" && state.chunksFailed === 0 && keepPartials === undefined)
    return `run ${run} is complete and kept no partials: only runs submitted with reuse or keepPartials do`;
  return undefined;
}
