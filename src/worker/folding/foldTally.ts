import type { FoldFacts } from "../../model/output.ts";
import type { FoundOutput } from "./foundOutputs.ts";

/** Sums up what was folded; `by`: the code that folds. */
export interface FoldTally {
  add(output: FoundOutput): void;
  facts(): FoldFacts;
}

export function foldTally(by: readonly string[] = []): FoldTally {
  const code = new Set<string>(by);
  let folded = 0;
  let attempts = 0;
  return {
    add({ facts }) {
      folded += facts.folded;
      attempts += facts.attempts;
      for (const one of facts.code) code.add(one);
    },
    facts: () => ({ folded, attempts, code: [...code].sort() }),
  };
}
