import { edit, type Mutant } from "./mutant.ts";

const undone =
  "code that is changed in mid-run computes nothing, the run says so, and goes on when the change is undone";
const nobody = "a run whose code nobody has fails with what to do, and a retry by other code is refused";
const recomputed = "a retry that recomputes plans anew and folds nothing of the code before";
const complete = "a complete run can be recomputed, and a third generation builds on that";
const mixed = "a retry that mixes computes only what is missing, and its manifest says so";
const foreign = "a partial of other code counts as missing, and one of the right code takes its place";

const leaderTakesAny = edit(
  "leader/decide/track.ts",
  "if (!belongsTo(state, facts) || isOutdated(facts, state.generation)) continue;",
  "if (isOutdated(facts, state.generation)) continue;",
);
const foldTakesAny = edit(
  "worker/folding/outputs.ts",
  "if (belongsTo(wanted, output)) yield",
  "if (wanted !== undefined) yield",
);

/** Which code computes, what is folded together, and what a run says that waits for its code. */
export const changedCodeRules: readonly Mutant[] = [
  {
    without: "the plan of an output",
    rule: 5,
    killedBy: "fails only for a reason",
    cases: [
      "plan, state and queues are lost and partials remain, and the new plan of other packs folds none of them",
    ],
    edits: edit("model/output.ts", "(wanted.plan === undefined ||", "(wanted.plan !== null ||"),
  },
  {
    without: "the worker's own identity against that of its work",
    rule: 11,
    killedBy: "other code computes nothing",
    cases: [undone],
    edits: edit(
      "worker/attempt/rightCode.ts",
      "if (!fits && !mixed)",
      'if (!fits && !mixed && kind === "sofar")',
    ),
  },
  {
    without: "the identity of a partial, for the leader and for the fold",
    rule: 5,
    killedBy: "no result folds two identities unless it was asked to",
    cases: [foreign],
    edits: leaderTakesAny.concat(foldTakesAny),
  },
  {
    without: "the identity of a partial in the leader's list",
    rule: 5,
    killedBy: "fails only for a reason",
    cases: [foreign],
    edits: leaderTakesAny,
  },
  {
    without: "a partial of the right code in the place of another",
    rule: 5,
    killedBy: "the scenario's own end",
    cases: [foreign],
    edits: edit(
      "worker/folding/writeOutput.ts",
      "if (belongsTo(wanted, facts) && !isOutdated(facts, message.gen))",
      'if (contentType !== "")',
    ),
  },
  {
    without: "a look whether the plan of a late message is still the run's",
    rule: 5,
    killedBy: "the first writer wins",
    cases: [5_000_451],
    edits: edit(
      "worker/folding/writeOutput.ts",
      "message.plan !== undefined &&",
      "message.plan === undefined &&",
    ),
  },
  {
    without: "the note of who has other code",
    rule: 11,
    killedBy: "the scenario's own end",
    cases: [undone],
    edits: edit(
      "worker/attempt/endAttempt.ts",
      "(await ports.noteOtherCode(message, error))",
      "ports.noteOtherCode === undefined",
    ),
  },
  {
    without: "an end for a run whose code nobody has",
    rule: 7,
    killedBy: "every run ends",
    cases: [nobody],
    edits: edit("leader/decide/refused.ts", "refused === undefined ||", "refused !== undefined ||"),
  },
  {
    without: "what was waited for by the leader before",
    rule: 7,
    killedBy: "every run ends",
    cases: [nobody],
    edits: edit("leader/decide/refused.ts", "before.otherCode?.sinceMs ?? at.nowMs", "at.nowMs"),
  },
  {
    without: "patience with a run that waits for its code",
    rule: 7,
    killedBy: "fails only for a reason",
    cases: [nobody],
    edits: edit("leader/decide/refused.ts", "limits.identityWaitMs + at.limitMs", "60_000"),
  },
  {
    without: "outcomes that take back that a run waits",
    rule: 7,
    killedBy: "the scenario's own end",
    cases: ["one instance with the right code is enough beside others with other code"],
    edits: edit("leader/decide/refused.ts", "!== ended) {\n    forget(draft);", "!== ended) {").concat(
      edit(
        "leader/decide/refused.ts",
        "const advances = quietMs < usualMs(state) || isAtWork(notes, at.nowMs);",
        "const advances = quietMs < 0;",
      ),
    ),
  },
  {
    without: "a choice for a retry by other code",
    rule: 6,
    killedBy: "the scenario's own end",
    cases: [nobody],
    edits: edit(
      "client/commands/decideCommand.ts",
      '(redo === undefined || redo === "changed-inputs") && !same',
      'redo === "mix" && !same',
    ),
  },
  {
    without: "names of its own for what is computed anew",
    rule: 6,
    killedBy: "the scenario's own end",
    cases: [recomputed],
    edits: edit("model/runBlobs.ts", "origin === 1 ? root :", "origin > 0 ? root :"),
  },
  {
    without: "the plan that a later generation builds on",
    rule: 6,
    killedBy: "the scenario's own end",
    cases: [complete],
    edits: edit("leader/decide/messages.ts", "  origin,\n  spec,\n  plan,\n});", "  spec,\n  plan,\n});"),
  },
  {
    without: "the word of a manifest that it is mixed",
    rule: 6,
    killedBy: "no result folds two identities unless it was asked to",
    cases: [mixed],
    edits: edit("worker/finish.ts", "isMixed(code) ? { mixed: true } : {}", "{}"),
  },
];
