import { edit, type Mutant } from "./mutant.ts";

const undone =
  "code that is changed in mid-run computes nothing, the run says so, and goes on when the change is undone";
const nobody = "a run whose code nobody has fails with what to do, and a retry by other code is refused";
const foreign =
  "a partial of other code, or of none that it names, counts as missing, and one of the right code takes its place";

const leaderTakesAny = edit(
  "trackParts",
  "if (!belongsTo(state, facts) || isOutdated(facts, state.generation)) continue;",
  "if (isOutdated(facts, state.generation)) continue;",
);
const foldTakesAny = edit("findPacks", "pack < packs.to && belongsTo(accepted, output))", "pack < packs.to)");

/** Which code computes, what is folded together, and what a run says that waits for its code. */
export const changedCodeRules: readonly Mutant[] = [
  {
    without: "the plan of an output",
    rule: "sealed shards",
    killedBy: "fails only for a reason",
    cases: [
      "plan, state and queues are lost and partials remain, and the new plan of other packs folds none of them",
    ],
    edits: edit("belongsTo", "&& isOfPlan(accepted, plan)", ""),
  },
  {
    without: "the worker's own identity against that of its work",
    rule: "wanted work",
    killedBy: "other code computes nothing",
    cases: [undone],
    edits: edit(
      "rightCode",
      "if (!fits(own, code)) throw",
      'if (!fits(own, code) && kind === "sofar") throw',
    ),
  },
  {
    without: "the identity of a partial, for the leader and for the fold",
    rule: "sealed shards",
    killedBy: "no result folds two identities unless it was asked to",
    cases: [foreign],
    edits: leaderTakesAny.concat(foldTakesAny),
  },
  {
    without: "a code and a plan that an output has to name",
    rule: "sealed shards",
    killedBy: "no result folds two identities unless it was asked to",
    cases: [foreign],
    edits: edit("accepts", "of !== undefined && (of === code", "of === undefined || (of === code").concat(
      edit(
        "isOfPlan",
        "plan !== undefined && tag === planTag(plan)",
        "tag === undefined || tag === planTag(plan ?? '')",
      ),
    ),
  },
  {
    without: "the identity of a partial in the leader's list",
    rule: "sealed shards",
    killedBy: "fails only for a reason",
    cases: [foreign],
    edits: leaderTakesAny,
  },
  {
    without: "a partial of the right code in the place of another",
    rule: "sealed shards",
    killedBy: "the scenario's own end",
    cases: [foreign],
    edits: edit(
      "writeOutput",
      "if (belongsTo(accepted, facts) && !isOutdated(facts, message.gen))",
      'if (contentType !== "")',
    ),
  },
  {
    without: "the note of who has other code",
    rule: "wanted work",
    killedBy: "the scenario's own end",
    cases: [undone],
    edits: edit(
      "endAttempt",
      "(await ports.noteOtherCode(message, error))",
      "ports.noteOtherCode === undefined",
    ),
  },
  {
    without: "an end for a run whose code nobody has",
    rule: "failure records",
    killedBy: "every run ends",
    cases: [nobody],
    edits: edit(
      "trackRefused",
      "refused === undefined ||",
      "refused === undefined || refused.sinceMs >= 0 ||",
    ),
  },
  {
    without: "what was waited for by the leader before",
    rule: "failure records",
    killedBy: "every run ends",
    cases: [nobody],
    edits: edit("trackRefused", "before.otherCode?.sinceMs ?? at.nowMs", "at.nowMs"),
  },
  {
    without: "patience with a run that waits for its code",
    rule: "failure records",
    killedBy: "fails only for a reason",
    cases: [nobody],
    edits: edit("trackRefused", "limits.identityWaitMs + at.limitMs", "60_000"),
  },
  {
    without: "outcomes that take back that a run waits",
    rule: "failure records",
    killedBy: "the scenario's own end",
    cases: ["one instance with the right code is enough beside others with other code"],
    edits: edit("trackRefused", "!== ended) {\n    forget(draft);", "!== ended) {").concat(
      edit(
        "trackRefused",
        "const advances = quietMs < usualMs(state) || isAtWork(notes, at.nowMs);",
        "const advances = quietMs < 0;",
      ),
    ),
  },
  {
    without: "a look at the code of a retry",
    rule: "generations",
    killedBy: "the scenario's own end",
    cases: [nobody],
    edits: edit("checkSame", "here !== undefined && here !== code", "here === ''"),
  },
];
