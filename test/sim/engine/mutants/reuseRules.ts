import { edit, type Mutant } from "./mutant.ts";

const changed = "a run reuses what has the same inputs, and computes the one pack that changed";
const chain = "a third run reuses partials of the first two, each where it stands";
const deleted =
  "the earlier run is deleted while a later one stands on it, which fails and computes what is lost in a retry";
const retried = "a gapped run that a later one stands on is retried and complete, and keeps its partials";
const cleaned =
  "a complete run is retried for changed inputs before its partials are deleted, and computes everything";
const again =
  "a retry of changed inputs that ended before its plan is tried again and reuses what was there before";
const gap = "a failed run gives what it computed, and its gap is computed";

const afterRetry = "a run reuses a gapped one that was retried, and no node from before the retry";

/** What a plan reuses, and what becomes of it. */
export const reuseRules: readonly Mutant[] = [
  {
    without: "the comparison of inputs",
    rule: 31,
    killedBy: "the result is the fold of what the manifest says",
    cases: [changed],
    edits: edit("worker/reuse.ts", "if (before?.[pack] === now?.[pack]) yield", "if (pack >= 0) yield"),
  },
  {
    without: "a look whether a node folds each of its packs",
    rule: 31,
    killedBy: "the result is the fold of what the manifest says",
    cases: [afterRetry],
    edits: edit("worker/folding/reusedNodes.ts", " && node.facts.folded === sizeOf(cover)", ""),
  },
  {
    without: "a look whether the partial is there",
    rule: 31,
    killedBy: "fails only for a reason",
    cases: [gap],
    edits: edit("worker/reuse.ts", "if (there[0]?.has(pack)) return", "if (reused.length === 0) return"),
  },
  {
    without: "a look whether the partial names files of its own run",
    rule: 31,
    killedBy: "what names a file comes after it",
    cases: ["a run that saves files reuses no partial of another, whose deletion takes its files"],
    edits: edit("worker/reuse.ts", "facts.saves !== true && facts.gaps", "facts.gaps"),
  },
  {
    without: "the place where an earlier run reused a partial from",
    rule: 31,
    killedBy: "the scenario's own end",
    cases: [chain],
    edits: edit("worker/reuse.ts", "of [own, ...reused])", "of [own])"),
  },
  {
    without: "partials that a complete run keeps",
    rule: 31,
    killedBy: "deleted only what is worthless",
    cases: [changed],
    edits: edit("leader/perform/close.ts", "&& !keeps", ""),
  },
  {
    without: "partials that an active run reuses",
    rule: 31,
    killedBy: "deleted only what is worthless",
    cases: [retried],
    edits: edit("leader/perform/close.ts", " || term.kept.has(state.run)", ""),
  },
  {
    without: "a look whether the partials before a retry are being deleted",
    rule: 31,
    killedBy: "fails only for a reason",
    cases: [cleaned],
    edits: edit("leader/decide/restart.ts", "isCleaned ? undefined", "phase === null ? undefined"),
  },
  {
    without: "the plan before a retry that planned nothing",
    rule: 31,
    killedBy: "the scenario's own end",
    cases: [again],
    edits: edit("leader/decide/restart.ts", "return earlier ??", "return"),
  },
  {
    without: "a retry that computes what was lost",
    rule: 31,
    killedBy: "the scenario's own end",
    cases: [deleted],
    edits: edit(
      "leader/decide/restart.ts",
      'if (closed.error?.code === "storage-lost") delete',
      "if (closed.code === null) delete",
    ),
  },
  {
    without: "what the plan reuses in a count of what is there",
    rule: 31,
    killedBy: "the scenario's own end",
    cases: ["a run that reuses everything sends no pack, through a pause and a new leader"],
    edits: edit(
      "leader/decide/track.ts",
      "recount ? reusedBits(state.reused, layout, shard)",
      "recount ? reusedBits([], layout, shard)",
    ),
  },
];
