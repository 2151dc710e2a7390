import type { ResultBytes } from "../../../../src/engine/calculation/contract.ts";
import { guarded } from "../../../../src/engine/calculation/encodePart.ts";
import { runFinish, runStop } from "../../../../src/engine/calculation/runJob.ts";
import { TreeFold } from "../../../../src/engine/model/foldTree.ts";
import { calculationLimits } from "../../../../src/engine/model/limits.ts";
import { powerFrom, type Range, rangeText } from "../../../../src/engine/model/packs.ts";
import { broken, sidesOf, type Verdict } from "./findings.ts";
import { bytesOf, computeOf, decoded, type Node, pause, type Subject, same } from "./subject.ts";

const noChunks = { unchecked: "there are no chunks" };

/** Encodes each partial, decodes it and encodes it again, the smallest one first. */
export async function codecLaw(subject: Subject): Promise<Verdict> {
  const { partials } = subject;
  for (const [index, bytes] of [...partials].sort(([, a], [, b]) => a.length - b.length)) {
    const again = await bytesOf(subject, await decoded(subject, bytes), `the partial of chunk ${index}`);
    if (same(bytes, again)) continue;
    return broken(
      `the partial of chunk ${index} encodes to other bytes after it was decoded`,
      "decode does not return all that encode was given",
      "write and read every field, with its exact value, in the same order",
      sidesOf("encoded", bytes, "again", again),
    );
  }
  return partials.size === 0 ? noChunks : { tried: `${partials.size} partials, encoded and decoded` };
}

/**
 * Folds the chunks by their one tree, once as a single worker would that never encodes between, and once as if each merge
 * had a worker of its own. If these agree, no cut into packs and shards can matter (rule *merge tree*).
 */
export async function mergeLaw(subject: Subject): Promise<Verdict> {
  if (subject.partials.size === 0) return noChunks;
  const fresh = await foldNodes(subject, false);
  await pause(subject);
  const apart = await foldNodes(subject, true);
  subject.nodes = apart;
  // A node comes after those that are folded into it, so the first one that differs is the smallest example.
  const at = apart.findIndex(({ bytes }, index) => !same(bytes, fresh[index]?.bytes ?? bytes));
  const [one, other] = [fresh[at], apart[at]];
  if (one === undefined || other === undefined) return { tried: `${apart.length} nodes, fresh and decoded` };
  const again = (await foldNodes(subject, true))[at]?.bytes ?? other.bytes;
  const chunks = `chunks ${rangeText(one)}`;
  if (!same(again, other.bytes))
    return broken(
      `${chunks}: merged again, they give other bytes`,
      "merge uses random numbers, the time, or a variable outside of it that it changes",
      "let merge depend on its two partials and the parameters alone",
      sidesOf("once", other.bytes, "again", again),
    );
  return broken(
    `${chunks}: decoded partials merge unlike fresh ones`,
    "a partial has something that its bytes do not have, such as a method, a hidden field or a shared object",
    "encode everything that merge uses, and give each chunk a partial of its own",
    sidesOf("fresh", one.bytes, "decoded", other.bytes),
  );
}

/** Every merge of the tree over the sampled chunks, each after those within it; of one chunk, its partial. */
async function foldNodes(subject: Subject, apart: boolean): Promise<readonly Node[]> {
  const { calculation, params, partials, tried } = subject;
  const nodes: Node[] = [];
  const tree = new TreeFold<Range & { readonly part: unknown }>(0, async (a, b) => {
    const part = await guarded("merge", () => calculation.merge(a.part, b.part, params, undefined));
    const range = { from: a.from, to: b.to };
    const bytes = await bytesOf(subject, part, `the merged partial of chunks ${rangeText(range)}`);
    nodes.push({ ...range, bytes });
    return { ...range, part: apart ? await decoded(subject, bytes) : part };
  });
  for (const [from, bytes] of partials) {
    const part = apart ? await decoded(subject, bytes) : await computeOf(subject, from);
    await tree.add({ from, size: 1 }, { from, to: from + 1, part });
  }
  await tree.end(powerFrom(tried));
  const [only] = partials.values();
  return nodes.length === 0 && only !== undefined ? [{ from: 0, to: 1, bytes: only }] : nodes;
}

/** The merges before have thrown for a partial over the limit. */
export async function sizeLaw({ partials, nodes }: Subject): Promise<Verdict> {
  if (partials.size === 0) return noChunks;
  const largest = Math.max(...[...partials.values()].map(({ length }) => length));
  const merged = bytesText(nodes.at(-1)?.bytes.length ?? 0);
  return { tried: `largest ${bytesText(largest)}, ${partials.size} merged ${merged}` };
}

const bytesText = (bytes: number): string =>
  bytes < 10_000 ? `${bytes} B` : `${Math.round(bytes / 1000).toLocaleString("en-US")} KB`;

/** The reason of the limit, and how to stay below it. */
export const tooLarge = [
  `folds hold partials in memory, so ${calculationLimits.partialBytesMax} bytes are the limit`,
  "keep sums, counts, extremes or sketches instead of rows; make smaller chunks if one is too large",
] as const;

/** Compares two results of the same partial, the second a moment later, and two answers of `stop` to each prefix of the tree. */
export async function finishLaw(subject: Subject): Promise<Verdict> {
  const first = await finishOf(subject);
  const said = await answersOf(subject);
  await pause(subject);
  const again = await finishOf(subject);
  subject.result = first;
  const other = [...(await answersOf(subject))].find(([chunks, stops]) => said.get(chunks) !== stops);
  if (other !== undefined)
    return broken(
      `stop says ${!other[1]} and then ${other[1]} of the same first ${other[0]} chunks`,
      "stop uses the time or random numbers, or a variable outside of it that it changes",
      "let stop depend on the partial, the parameters and its context alone",
    );
  const label = `${first.contentType}, ${first.body.length.toLocaleString("en-US")} bytes`;
  if (same(first.body, again.body)) return { tried: `twice the same ${label}` };
  return broken(
    "finish gives another result when it is called again",
    "finish uses the time or random numbers, or changes a variable outside of it",
    "make the result from the partial and the parameters alone",
    sidesOf("first", first.body, "again", again.body),
  );
}

/** What `stop` says of the folds that begin with the first chunk, the longest first; nothing where there is none. */
async function answersOf({ calculation, params, partials, nodes }: Subject): Promise<Map<number, boolean>> {
  const answers = new Map<number, boolean>();
  const asked = calculation.stop === undefined ? [] : nodes.filter(({ from }) => from === 0).reverse();
  for (const { to: chunks, bytes } of asked) {
    const folded = [...partials.keys()].filter((index) => index < chunks).length;
    const parts = [{ from: 0, to: powerFrom(chunks), bytes }];
    answers.set(chunks, await runStop(calculation, { params, parts, folded, chunks }));
  }
  return answers;
}

/** The result that a run over the sampled chunks must have on any number of workers. */
async function finishOf(subject: Subject): Promise<ResultBytes> {
  const { calculation, params, count, tried, partials, nodes } = subject;
  const folded = partials.size;
  const parts = nodes.slice(-1).map(({ bytes }) => ({ from: 0, to: powerFrom(tried), bytes }));
  return subject.whole(await runFinish(calculation, { params, parts, folded, count }));
}
