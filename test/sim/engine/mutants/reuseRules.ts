import { edit, type Mutant } from "./mutant.ts";

const changed = "a run copies what has the same inputs, and computes the one pack that changed";
const codes =
  "what other code computed is copied where the request takes it, and the manifest names both codes";

/** What a worker copies from the run that is reused. */
export const reuseRules: readonly Mutant[] = [
  {
    without: "the inputs in the key of a partial",
    rule: "reuse",
    killedBy: "the result is the fold of what the manifest says",
    cases: [changed],
    edits: edit("keyOf", "place, inputs ?? null]", "place, inputs === undefined]"),
  },
  {
    without: "the place of a pack in the key of its partial",
    rule: "reuse",
    killedBy: "fails only for a reason",
    cases: ["a run of a count copies each pack to where it was"],
    edits: edit("keyOf", "anywhere ? [] : [from, to, plan.chunks]", "[to - from]"),
  },
  {
    without: "the hash of a copy",
    rule: "reuse",
    killedBy: "the result is the fold of what the manifest says",
    cases: ["a partial that was changed by hand is not copied"],
    edits: edit(
      "findReused",
      'if (metadata["sha256"] === hash("sha256", found.body)) return',
      "if (metadata !== undefined) return",
    ),
  },
  {
    without: "the code of a partial",
    rule: "reuse",
    killedBy: "other code computes nothing",
    cases: [codes],
    edits: edit(
      "findReused",
      "for (const by of [code, ...mix])",
      'for (const by of [code, ...mix, "ranges@1"])',
    ),
  },
  {
    without: "a look whether the partial names files of its own run",
    rule: "reuse",
    killedBy: "what names a file comes after it",
    cases: ["a run that saves files reuses no partial of another, whose deletion takes its files"],
    edits: edit("listKeys", "saves !== true && gaps", "gaps"),
  },
  {
    without: "partials that a complete run keeps",
    rule: "reuse",
    killedBy: "deleted only what is worthless",
    cases: [changed],
    edits: edit("cleanUp", "&& !keeps", ""),
  },
  {
    without: "the codes that the request takes, for the leader",
    rule: "reuse",
    killedBy: "the scenario's own end",
    cases: [codes],
    edits: edit("takeOver", " mix: spec.reuse?.codes,", ""),
  },
  {
    without: "the word of a manifest that it is mixed",
    rule: "reuse",
    killedBy: "no result folds two identities unless it was asked to",
    cases: [codes],
    edits: edit("finishRun", "code.length > 1 ? { mixed: true } : {}", "{}"),
  },
];
