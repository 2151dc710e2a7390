import { edit, type Mutant } from "./mutant.ts";

const changed = "a run reuses what has the same inputs, and computes the one pack that changed";
const chain = "a third run reuses partials of the first two, each where it stands";
const deleted =
  "the earlier run is deleted while a later one stands on it, which fails and computes what is lost in a retry";
const gap = "a failed run gives what it computed, and its gap is computed";

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
    without: "a look whether the partial is there",
    rule: 31,
    killedBy: "fails only for a reason",
    cases: [gap],
    edits: edit("worker/reuse.ts", "if (there[0]?.has(pack)) return", "if (reused.length === 0) return"),
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
    edits: edit("coordinator/perform/close.ts", "&& keeps === undefined", ""),
  },
  {
    without: "a retry that computes what was lost",
    rule: 31,
    killedBy: "the scenario's own end",
    cases: [deleted],
    edits: edit(
      "coordinator/decide/restart.ts",
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
      "coordinator/decide/track.ts",
      "recount ? reusedBits(state.reused, layout, shard)",
      "recount ? reusedBits([], layout, shard)",
    ),
  },
];
