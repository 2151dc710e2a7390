import { createHash } from "node:crypto";
import { decodeBitmap, hasBit } from "../../../../src/engine/model/bitmap.ts";
import { chunksOfPack, indexesOf, packsOf, type Range, sizeOf } from "../../../../src/engine/model/packs.ts";
import type { Manifest } from "../../../../src/engine/model/run.ts";
import { treeShape } from "../../../support/plainTree.ts";
import { filesIn, leafOf, type RangesInput, rowsOf } from "../../../support/rangesCode.ts";
import type { Check, Scene } from "./judge.ts";
import { inputsOf, parsed, placeOf, type RunRecord } from "./ledger.ts";

const checker = "the result is the fold of what the manifest says";

/**
 * A manifest names a result that holds exactly the chunks which it says are folded, in order, each once, merged by the
 * tree of spans, of the inputs that its plan lists; it is complete if nothing is missing; and what is missing has a failure record of that generation, or a stranger's word, or
 * was given up: it was not there when somebody asked to end the run with what was done.
 */
export const resultIsTheFold =
  ({ ledger, report }: Scene): Check =>
  (effect) => {
    if (effect.kind !== "created") return;
    const place = placeOf(effect.container, effect.name);
    if (place.kind !== "result" || !place.rest.endsWith("/manifest.json")) return;
    const manifest = parsed<Manifest>(effect.body);
    const run = ledger.record(place.id, place.uid);
    // What arrives after a deletion is read by nobody, and swept.
    if (run.deleteAskedMs !== undefined && !run.specThere) return;
    for (const what of wrongWith(manifest, run, ledger.results.get(manifest.blob))) {
      report(checker, `${effect.name}: ${what}`);
    }
  };

function* wrongWith(
  manifest: Manifest,
  run: RunRecord,
  bytes: Uint8Array | string | undefined,
): Generator<string> {
  const { chunks, missing, folded, complete, packs, stopped } = manifest;
  if (bytes === undefined) return yield "its result is not there";
  const sha256 = createHash("sha256").update(bytes).digest("hex");
  if (sha256 !== manifest.sha256) yield "the bytes are not those of its hash";
  const planned = stopped?.of ?? chunks;
  if (planned !== run.plan?.chunks) yield `it has ${planned} chunks, the plan ${run.plan?.chunks}`;
  const isFolded = (chunk: number): boolean => !missing.some(({ from, to }) => from <= chunk && chunk < to);
  const content = Buffer.from(bytes as Uint8Array);
  if (content.length !== manifest.bytes) yield `it has ${content.length} bytes, not ${manifest.bytes}`;
  if (manifest.contentType === "text/plain") yield* wrongWithRows(content.toString(), manifest, isFolded);
  else yield* wrongWithFold(content.toString(), manifest, isFolded, inputsOf(run));
  const gaps = missing.reduce((sum, { from, to }) => sum + to - from, 0);
  if (folded !== chunks - gaps) yield `${folded} chunks are folded of ${chunks}, but ${gaps} missing`;
  if (complete !== (gaps === 0)) yield `complete is ${complete} with ${gaps} chunks missing`;
  if (run.plan === undefined) return;
  // Where it stopped is another checker's.
  const plan = { ...run.plan, chunks };
  if (packs !== packsOf(plan)) yield `it has ${packs} packs, the plan ${packsOf(plan)}`;
  // A deletion that is under way takes first what would tell.
  for (let pack = 0; pack < packs && run.deleteAskedMs === undefined; pack += 1) {
    const chunks = chunksOfPack(plan, pack);
    const lacking = indexesOf(chunks).filter((chunk) => !isFolded(chunk));
    if (lacking.length === 0) continue;
    if (lacking.length < sizeOf(chunks)) {
      const there = run.gapped.get(pack);
      const has = decodeBitmap(there?.members ?? "", sizeOf(chunks));
      const others = indexesOf(chunks).filter((chunk) => !hasBit(has, chunk - chunks.from));
      if (there?.gen !== manifest.generation || others.join() !== lacking.join())
        yield `pack ${pack} lacks ${lacking.join()}, and its partial with gaps ${there && others.join()}`;
    }
    const failed = [...run.failures.values()].some(
      ({ work, generation }) =>
        work.kind === "pack" && work.pack === pack && generation === manifest.generation,
    );
    if (failed || run.forged === true) continue;
    const kept = run.kept.get(manifest.generation);
    const etag = run.parts.get(pack);
    if (kept === undefined) yield `pack ${pack} is missing, but nothing says that it failed`;
    // A partial of other code counts for nothing.
    else if (etag !== undefined && etag === kept.get(pack) && run.codes.get(pack) === run.plan.code)
      yield `pack ${pack} is given up, but its partial was there`;
  }
}

function* wrongWithFold(
  text: string,
  { chunks, missing, folded }: Manifest,
  isFolded: (chunk: number) => boolean,
  inputs: readonly RangesInput[],
): Generator<string> {
  const wanted = JSON.stringify(rest(chunks, missing));
  // What follows these lines says which attempt made it.
  const [got, shape] = text.split("\n");
  if (got !== wanted) yield `the result is ${got}, not ${wanted}`;
  if (got === wanted && shape !== treeShape(chunks, isFolded, (chunk) => leafOf(chunk, inputs[chunk])))
    yield `the chunks are of other inputs, or merged in another order than that of the tree`;
  const files = filesIn(text);
  if (files !== undefined && files.length !== folded)
    yield `it lists ${files.length} files of ${folded} chunks`;
}

/** Of a result that has the files of its chunks behind each other. */
function* wrongWithRows(
  text: string,
  { chunks }: Manifest,
  isFolded: (chunk: number) => boolean,
): Generator<string> {
  const all = indexesOf({ from: 0, to: chunks }).filter(isFolded);
  if (text !== all.map(rowsOf).join("")) yield `the result is ${text}, not the rows of its chunks in order`;
}

/** The ranges of `[0, chunks)` that are not missing. */
function rest(chunks: number, missing: readonly Range[]): [number, number][] {
  const ranges: [number, number][] = [];
  let from = 0;
  for (const gap of missing) {
    if (gap.from > from) ranges.push([from, gap.from]);
    from = gap.to;
  }
  if (chunks > from) ranges.push([from, chunks]);
  return ranges;
}
