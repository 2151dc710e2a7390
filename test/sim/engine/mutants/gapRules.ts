import { edit, type Mutant } from "./mutant.ts";

const one = "one bad chunk of a tolerant run loses one chunk, and the retry computes its pack alone";
const sealed = "a whole partial that comes after its shard was sealed with gaps is folded by the retry only";
const severalDoomed = "several doomed chunks of one pack are found one after the other";
const many = "chunks that fail always or at times, in shards of two packs of any size";

/** Chunks that fail without their pack. */
export const gapRules: readonly Mutant[] = [
  {
    without: "the other chunks of a pack of which one fails",
    rule: 32,
    killedBy: "the scenario's own end",
    cases: [one],
    edits: edit("worker/compute.ts", "most > 0 ?", "most < 0 ?"),
  },
  {
    without: "a look whether the run tolerates anything",
    rule: 32,
    killedBy: "the scenario's own end",
    cases: [
      "a run that tolerates nothing fails at its first bad chunk and names it, and no partial has gaps",
    ],
    edits: edit("worker/compute.ts", "most > 0 ? { most, last,", "most >= 0 ? { most: 9, last,"),
  },
  {
    without: "further attempts at a chunk that threw",
    rule: 32,
    killedBy: "the scenario's own end",
    cases: ["a chunk that throws once of a run that tolerates it has further attempts, and none is a gap"],
    edits: edit("calculation/gaps.ts", "!asksOver : !last && mayPass(error)", "!asksOver : most < 0"),
  },
  {
    without: "the chunks that another attempt has stored in the record",
    rule: 32,
    killedBy: "every chunk is counted once",
    cases: [
      "of two last attempts that fail at other chunks the first one's partial stands, and both tell of that",
    ],
    edits: edit("worker/compute.ts", 'written === "existed" ?', 'written === "replaced" ?'),
  },
  {
    without: "the generation in the name of a partial with gaps",
    rule: 32,
    killedBy: "every chunk is counted once",
    cases: [many],
    edits: edit("worker/compute.ts", ".node(gen, 0, pack)", ".node(1, 0, pack)"),
  },
  {
    without: "a late success in place of a partial with gaps",
    rule: 32,
    killedBy: "every run ends",
    cases: ["a whole partial that comes before its shard is sealed takes the place of one with gaps"],
    edits: edit("leader/decide/track.ts", "delete open.gapped?.[index];", ""),
  },
  {
    without: "the packs with gaps that a shard was sealed with",
    rule: 32,
    killedBy: "the scenario's own end",
    cases: [sealed],
    edits: edit(
      "leader/decide/messages.ts",
      "level, index, members, gapped, childGens",
      "level, index, members, childGens",
    ),
  },
  {
    without: "the number of chunks that failed",
    rule: 32,
    killedBy: "every chunk is counted once",
    cases: [one],
    edits: edit("leader/decide/failures.ts", "[pack]: lacking }", "[pack]: lacking + 1 }"),
  },
  {
    without: "the clean-up of partials with gaps of earlier generations",
    rule: 32,
    killedBy: "what is left is documented",
    cases: [one],
    edits: edit("leader/perform/close.ts", "origin !== undefined || gaps ?", "origin !== undefined ?"),
  },
  {
    without: "the chunks that later sends exclude",
    rule: 32,
    killedBy: "the scenario's own end",
    cases: [
      "a chunk that never ends is all that its tolerant run loses, and the retry computes its pack whole",
    ],
    edits: edit("leader/decide/messages.ts", "excluded: excluded && [...excluded],", ""),
  },
  {
    without: "ends at excluded chunks that count no more",
    rule: 32,
    killedBy: "the scenario's own end",
    cases: [severalDoomed],
    edits: edit(
      "leader/decide/verdict.ts",
      "counted = counted.filter((other) => other.chunk !== chunk);",
      "",
    ),
  },
  {
    without: "a limit to the chunks of a pack that are excluded",
    rule: 32,
    killedBy: "the scenario's own end",
    cases: ["a pack of more doomed chunks than are excluded fails whole"],
    edits: edit("leader/decide/verdict.ts", "size - 1, limits.excludedMax)", "size - 1)"),
  },
  {
    without: "a look whether more may fail than the run tolerates",
    rule: 32,
    killedBy: "the scenario's own end",
    cases: ["more doomed chunks than the run tolerates fail it, and are not all excluded"],
    edits: edit("leader/decide/verdict.ts", "Math.min(pack.tolerated, size", "Math.min(size"),
  },
];
