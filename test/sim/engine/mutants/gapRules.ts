import { edit, type Mutant } from "./mutant.ts";

const one = "one bad chunk of a tolerant run loses one chunk, and the retry computes its pack alone";
const severalDoomed = "several doomed chunks of one pack are found one after the other";

const failedRun = "a retry of a run that failed at a chunk computes no other chunk twice";
const gappedRun =
  "a retry of a tolerant run computes the chunks that failed, also where one of them fails again";
const longWait = "an attempt after a wait of minutes computes the chunk that threw, and no other again";

/** Chunks that fail without their pack. */
export const gapRules: readonly Mutant[] = [
  {
    without: "what a pack that failed keeps",
    rule: "failed chunks",
    killedBy: "the scenario's own end",
    cases: [failedRun],
    edits: edit("computeChunks", "await calls.onLeft?.(new Map(left));", ""),
  },
  {
    without: "chunks that were computed beyond the one that failed",
    rule: "failed chunks",
    killedBy: "the scenario's own end",
    cases: [failedRun],
    edits: edit("computeChunks", "new Map(left)", "new Map()"),
  },
  {
    without: "what a pack with gaps keeps",
    rule: "failed chunks",
    killedBy: "the scenario's own end",
    cases: [gappedRun],
    edits: edit("runCompute", "const kept = fold.kept();", "const kept = undefined;"),
  },
  {
    without: "what an earlier attempt of the same generation kept",
    rule: "failed chunks",
    killedBy: "the scenario's own end",
    cases: [longWait],
    edits: edit("keptFolds", "message.send === 1 && attemptOf(message) === 1", "message.send === 1"),
  },
  {
    without: "the end of what is kept",
    rule: "failed chunks",
    killedBy: "the result is the fold of what the manifest says",
    cases: [failedRun, gappedRun],
    edits: edit("runCompute", "to: span.from + span.size", "to: span.from + span.size + 1"),
  },
  {
    without: "a partial before what was kept is deleted",
    rule: "deletions",
    killedBy: "deleted only what is worthless",
    cases: [gappedRun],
    edits: edit(
      "computePack",
      "const output = { bytes, ms,",
      "await keeping.remove();\n  const output = { bytes, ms,",
    ),
  },
  {
    without: "the other chunks of a pack of which one fails",
    rule: "failed chunks",
    killedBy: "the scenario's own end",
    cases: [one],
    edits: edit("computePack", "most > 0 ?", "most < 0 ?"),
  },
  {
    without: "a look whether the run tolerates anything",
    rule: "failed chunks",
    killedBy: "the scenario's own end",
    cases: [
      "a run that tolerates nothing fails at its first bad chunk and names it, and no partial has gaps",
    ],
    edits: edit("computePack", "most > 0 ? { most, last,", "most >= 0 ? { most: 9, last,"),
  },
  {
    without: "further attempts at a chunk that threw",
    rule: "failed chunks",
    killedBy: "the scenario's own end",
    cases: ["a chunk that throws once of a run that tolerates it has further attempts, and none is a gap"],
    edits: edit("gapsIn", "!asksOver : !over && mayPass(error)", "!asksOver : most < 0"),
  },
  {
    without: "the generation of a partial with gaps",
    rule: "failed chunks",
    killedBy: "the scenario's own end",
    cases: [one],
    edits: edit("isOutdated", "gaps !== undefined && gaps.gen < gen", "gaps !== undefined && gen < 0"),
  },
  {
    without: "a partial with gaps that gives way in a retry",
    rule: "failed chunks",
    killedBy: "the scenario's own end",
    cases: [one],
    edits: edit("writeOutput", " && !isOutdated(facts, message.gen)", ""),
  },
  {
    without: "the record before a partial with gaps",
    rule: "failed chunks",
    killedBy: "the result is the fold of what the manifest says",
    cases: [one],
    edits: edit("computePack", "await recordGaps(ports, message, failed);", ""),
  },
  {
    without: "the chunks that the partials of a sealed shard lack",
    rule: "failed chunks",
    killedBy: "every chunk is counted once",
    cases: [one],
    edits: edit("sealShards", "...(open.gaps && { gaps: open.gaps })", ""),
  },
  {
    without: "the number of chunks that failed",
    rule: "failed chunks",
    killedBy: "every chunk is counted once",
    cases: [one],
    edits: edit("trackParts", "facts.gaps?.chunks ?? 0", "2 * (facts.gaps?.chunks ?? 0)"),
  },
  {
    without: "the gaps of a shard that a retry computes again",
    rule: "failed chunks",
    killedBy: "the scenario's own end",
    cases: [
      "a whole partial that comes after one with gaps changes nothing, and the retry computes the pack",
    ],
    edits: edit("beginGeneration", " && gaps === undefined) state.sealed", ") state.sealed"),
  },
  {
    without: "the chunks that later sends exclude",
    rule: "failed chunks",
    killedBy: "the scenario's own end",
    cases: [
      "a chunk that never ends is all that its tolerant run loses, and the retry computes its pack whole",
    ],
    edits: edit("packMessage", "excluded: excluded && [...excluded],", ""),
  },
  {
    without: "ends at excluded chunks that count no more",
    rule: "failed chunks",
    killedBy: "the scenario's own end",
    cases: [severalDoomed],
    edits: edit("verdictOf", "counted = counted.filter((other) => other.chunk !== chunk);", ""),
  },
  {
    without: "a limit to the chunks of a pack that are excluded",
    rule: "failed chunks",
    killedBy: "the scenario's own end",
    cases: ["a pack of more doomed chunks than are excluded fails whole"],
    edits: edit("mayExclude", "size - 1, limits.excludedMax)", "size - 1)"),
  },
  {
    without: "a look whether more may fail than the run tolerates",
    rule: "failed chunks",
    killedBy: "the scenario's own end",
    cases: ["more doomed chunks than the run tolerates fail it, and are not all excluded"],
    edits: edit("mayExclude", "Math.min(pack.tolerated, size", "Math.min(size"),
  },
];
