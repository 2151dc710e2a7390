import { edit, type Mutant } from "./mutant.ts";

const first = "a run stops after the first prefix that its rule accepts, and little beyond is sent";
const beyond = "a chunk that fails beyond the prefix after which its run stops fails no run";
const gaps = "the rule sees the gaps of a prefix, and a retry that fills them asks again";

/** Runs that end with the first prefix that their calculation accepts. */
export const stopRules: readonly Mutant[] = [
  {
    without: "the order in which prefixes are asked about",
    rule: "early stop",
    killedBy: "a run stops where its rule says",
    cases: ["prefixes that are ready together are asked about in order"],
    edits: edit("nextPrefix", "prefixes.findIndex(", "prefixes.findLastIndex("),
  },
  {
    without: "the end in the message of the finish",
    rule: "early stop",
    killedBy: "fails only for a reason",
    cases: [first],
    edits: edit("taskMessage", "childGens, stopped, terms", "childGens, terms"),
  },
  {
    without: "the end of what is sent",
    rule: "early stop",
    killedBy: "the scenario's own end",
    cases: [first],
    edits: edit("stopAfter", "state.layout = cutTo(layout, chunks);", "state.layout = layout;"),
  },
  {
    without: "a wait for the shards of a prefix",
    rule: "early stop",
    killedBy: "fails only for a reason",
    cases: [first],
    edits: edit(
      "askForStop",
      "name in state.groups || !nodesThere(state, 1, { from: 0, to: counting })",
      "name in state.groups",
    ),
  },
  {
    without: "patience with chunks that fail beyond the next prefix",
    rule: "early stop",
    killedBy: "the scenario's own end",
    cases: [beyond],
    edits: edit("failedThatCount", "return counting < Number.POSITIVE_INFINITY", "return counting < 0"),
  },
  {
    without: "patience with folds that fail beyond the next prefix",
    rule: "early stop",
    killedBy: "the scenario's own end",
    cases: ["a merge that fails beyond the prefix after which its run stops fails no run"],
    edits: edit("sealShards", "&& shard < counting)", "&& shard >= 0)"),
  },
  {
    without: "all chunks of the plan in a retry",
    rule: "early stop",
    killedBy: "a run stops where its rule says",
    cases: [gaps],
    edits: edit("unstopped", "chunks: stopped.of, stops: true", "chunks: stopped.of"),
  },
  {
    without: "the chunks of the plan in the tolerance",
    rule: "early stop",
    killedBy: "the scenario's own end",
    cases: [gaps],
    edits: edit("plannedChunks", "stopped?.of ?? chunks;", "chunks;"),
  },
  {
    without: "the clean-up of what was computed beyond the end",
    rule: "early stop",
    killedBy: "what is left is documented",
    cases: [first],
    edits: edit("sendCleanup", "shardsOf({ ...layout, chunks })", "shardsOf(layout)"),
  },
  {
    without: "all answers before a run has all its chunks",
    rule: "early stop",
    killedBy: "a run stops where its rule says",
    cases: ["a retry that fills a gap of a run which no prefix had ended asks anew, and stops"],
    edits: edit(
      "askForFinish",
      "if (next !== undefined && (state.keep",
      "if (next !== undefined && state.turn < 0 && (state.keep",
    ),
  },
  {
    without: "shards that end with each prefix",
    rule: "early stop",
    killedBy: "the scenario's own end",
    cases: [first],
    edits: edit("stoppingLayout", "Math.min(stopUnit(chunks) / packSize, ", "Math.max(3, "),
  },
];
