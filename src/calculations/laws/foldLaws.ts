import { coverOf } from "../../model/foldTree.ts";
import { type Range, rangeText } from "../../model/packs.ts";
import type { ResultBytes } from "../contract.ts";
import type { CoveringPart } from "../foldParts.ts";
import { runCompute, runFinish, runFold } from "../runJob.ts";
import { shrink, wholeBetween } from "./draw.ts";
import { broken, reasonOf, sidesOf, type Verdict } from "./findings.ts";
import { pauseMs } from "./inputLaws.ts";
import { randomRunsMs, type Subject, same, stopwatch } from "./subject.ts";

/** A way to fold chunks `[cuts[0], last cut)`: packs between the cuts, and `fanIn` neighbors at a time above them. */
interface Folding {
  readonly cuts: readonly number[];
  readonly fanIn: number;
  /** Packs are computed anew, as a worker does, instead of folded from known partials. */
  readonly computed: boolean;
}

/** Number of foldings whose packs are computed anew: a few, and fewer if that takes long. */
function computedRuns({ chunkMs, partials }: Subject): number {
  const passMs = 500;
  return chunkMs === undefined
    ? 2
    : Math.min(4, Math.max(1, Math.floor(passMs / (chunkMs * partials.length))));
}

/** Cached results of one pack, while a folding shrinks. */
const wholesMax = 8;

/** Compares the result of the first chunks in one pack with that of random packs and trees, byte for byte. */
export async function packsLaw(subject: Subject): Promise<Verdict> {
  const { partials, runs, draw } = subject;
  const chunks = partials.length;
  if (chunks < 2) return { unchecked: "there are too few chunks to cut into packs" };
  const wholes = new Map<string, Promise<ResultBytes>>();
  const both = async (folding: Folding): Promise<readonly [ResultBytes, ResultBytes]> => {
    const [from, to] = [folding.cuts[0] as number, folding.cuts.at(-1) as number];
    const key = `${from} ${to} ${folding.computed}`;
    const whole = wholes.get(key) ?? foldedResult(subject, { ...folding, cuts: [from, to] });
    if (wholes.size > wholesMax) wholes.clear();
    wholes.set(key, whole);
    return [await whole, await foldedResult(subject, folding)];
  };
  const fails = async (folding: Folding): Promise<boolean> => {
    const [whole, folded] = await both(folding);
    return !same(whole.body, folded.body);
  };
  const timeIsUp = stopwatch(subject, randomRunsMs);
  let run = 0;
  for (; run < runs && !timeIsUp(); run += 1) {
    const inner = new Set<number>();
    for (let cut = wholeBetween(draw, 1, chunks); cut > 0; cut -= 1) inner.add(wholeBetween(draw, 1, chunks));
    const cuts = [0, ...[...inner].sort((a, b) => a - b), chunks];
    const folding = { cuts, fanIn: wholeBetween(draw, 2, 6), computed: run < computedRuns(subject) };
    if (!(await fails(folding))) continue;
    const smallest = await shrink(folding, smallerFoldings, fails);
    const [whole, folded] = await both(smallest);
    const reason = reasonOf(whole.body, folded.body);
    return broken(
      `chunks cut into packs ${packsText(smallest)}: another result than in one pack`,
      reason?.likely ?? "folding loses something of a partial, or merge or finish keeps state between calls",
      reason?.cure ?? "let merge depend on its two partials alone, and encode all that it uses",
      sidesOf("one pack", whole.body, "packs", folded.body),
    );
  }
  return { tried: `${run} random packs and trees of ${chunks} chunks` };
}

/** Smaller foldings: without a pack at either end, with two packs joined, and with one chunk less. */
function* smallerFoldings(folding: Folding): Generator<Folding> {
  const { cuts } = folding;
  if (cuts.length > 3) {
    for (const half of [cuts.slice(0, Math.ceil(cuts.length / 2)), cuts.slice(Math.floor(cuts.length / 2))]) {
      if (half.length > 2) yield { ...folding, cuts: half };
    }
    yield { ...folding, cuts: cuts.slice(0, -1) };
    yield { ...folding, cuts: cuts.slice(1) };
    for (let cut = 1; cut < cuts.length - 1; cut += 1) yield { ...folding, cuts: cuts.toSpliced(cut, 1) };
  }
  const [first = 0, second = 0] = cuts;
  if (second - first > 1) yield { ...folding, cuts: [first + 1, ...cuts.slice(1)] };
  const [before = 0, last = 0] = cuts.slice(-2);
  if (last - before > 1) yield { ...folding, cuts: [...cuts.slice(0, -1), last - 1] };
}

async function foldedResult(subject: Subject, { cuts, fanIn, computed }: Folding): Promise<ResultBytes> {
  const { calculation, params, partials } = subject;
  const fold = async (range: Range, parts: readonly CoveringPart[]): Promise<CoveringPart> => ({
    ...range,
    bytes: await runFold(calculation, params, { ...range, parts }),
  });
  const [first, last] = [cuts[0] as number, cuts.at(-1) as number];
  let level: CoveringPart[] = [];
  for (const [at, to] of cuts.slice(1).entries()) {
    const pack = { from: cuts[at] as number, to };
    const chunks = partials.slice(pack.from, to).map((bytes, i) => chunkPart(pack.from + i, bytes));
    level.push(await (computed ? packOf(subject, pack, last) : fold(coverOf(pack, last), chunks)));
  }
  while (level.length > fanIn) {
    const above: CoveringPart[] = [];
    for (let at = 0; at < level.length; at += fanIn) {
      const some = level.slice(at, at + fanIn);
      above.push(await fold({ from: some[0]?.from ?? 0, to: some.at(-1)?.to ?? 0 }, some));
    }
    level = above;
  }
  return finishOf(subject, level, last - first);
}

const chunkPart = (index: number, bytes: Uint8Array): CoveringPart => ({ from: index, to: index + 1, bytes });

/** Computes a pack as a worker does, in a run of so many chunks. */
async function packOf(subject: Subject, { from, to }: Range, chunks: number): Promise<CoveringPart> {
  const { calculation, params, count, inputs, files } = subject;
  const listed =
    inputs === undefined ? {} : { inputs: [...Array(to - from).keys()].map((at) => inputs.get(from + at)) };
  const cover = coverOf({ from, to }, chunks);
  const pack = { params, from, to, count, coverTo: cover.to, ...listed };
  return { ...cover, bytes: await runCompute(calculation, pack, files) };
}

const finishOf = ({ calculation, params, count }: Subject, parts: readonly CoveringPart[], folded: number) =>
  runFinish(calculation, { params, parts, folded, count });

/** Compares two results of the same partial, the second a moment later. */
export async function finishLaw(subject: Subject): Promise<Verdict> {
  const { partials } = subject;
  const parts = partials.slice(0, 1).map((bytes) => chunkPart(0, bytes));
  const first = await finishOf(subject, parts, parts.length);
  await subject.options.clock?.sleep(pauseMs);
  const again = await finishOf(subject, parts, parts.length);
  const label = `${first.contentType}, ${first.body.length.toLocaleString("en-US")} bytes`;
  if (same(first.body, again.body)) return { tried: `twice the same ${label}` };
  return broken(
    `${parts.length === 0 ? "no chunks" : "chunk 0"}: finish gives another result when it is called again`,
    "finish uses the time or random numbers, or changes a variable outside of it",
    "make the result from the partial and the parameters alone",
    sidesOf("first", first.body, "again", again.body),
  );
}

/** The result that a run over the sampled chunks must have on any number of workers. */
export async function serialResult(subject: Subject): Promise<ResultBytes> {
  const chunks = subject.partials.length;
  const parts = chunks === 0 ? [] : [await packOf(subject, { from: 0, to: chunks }, chunks)];
  return finishOf(subject, parts, chunks);
}

const packsShown = 4;
function packsText({ cuts, fanIn }: Folding): string {
  const packs = cuts.slice(1).map((to, at) => rangeText({ from: cuts[at] as number, to }));
  const more = packs.length > packsShown ? ` … (${packs.length} packs)` : "";
  const tree = packs.length > fanIn ? `, ${fanIn} folded at a time` : "";
  return `${packs.slice(0, packsShown).join(" | ")}${more}${tree}`;
}
