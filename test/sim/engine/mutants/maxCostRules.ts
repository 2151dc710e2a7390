import { edit, type Mutant } from "./mutant.ts";

export const maxCostRules: readonly Mutant[] = [
  {
    without: "what is in flight in the cost of a run",
    rule: "run limits",
    killedBy: "the cost is bounded",
    cases: ["a run at its max cost ends with what is done"],
    edits: edit(
      "affords",
      "costWith(state, inFlight, expectedPackMs(state))",
      "costWith(state, 0, expectedPackMs(state))",
    ),
  },
  {
    without: "a bound on resends",
    rule: "run limits",
    killedBy: "the scenario's own end",
    cases: ["workers die with packs of a run at its max cost, which are sent again once it may cost more"],
    edits: edit(
      "affordsResend",
      "if (affords(state, state.inFlight + 1)) return true;",
      "if (state.cap > 0) return true;",
    ),
  },
  {
    without: "rest for a run at its max cost",
    rule: "run limits",
    killedBy: "what has nothing to do costs nothing",
    cases: ["a run at its max cost rests, a resume changes nothing, and a higher one lets it end"],
    edits: edit("hasComeToRest", ": sentNothingSinceMs(state, notes);", ": undefined;"),
  },
];
