import type { AnyCalculation } from "../../src/engine/calculation/contract.ts";
import { type Files, noFiles } from "../../src/engine/calculation/files.ts";
import type { CoveringPart } from "../../src/engine/calculation/foldParts.ts";
import { runCompute, runFold } from "../../src/engine/calculation/runJob.ts";
import { coverOf } from "../../src/engine/model/foldTree.ts";

/** The partial of a pack with the chunks that it covers, as a worker knows it. */
export async function computePart(
  calculation: AnyCalculation,
  pack: Parameters<typeof runCompute>[1],
  files: Files = noFiles,
): Promise<CoveringPart> {
  return { ...coverOf(pack, pack.count), bytes: await runCompute(calculation, pack, files) };
}

/** Folds neighbors into one partial. */
export async function foldPart(
  calculation: AnyCalculation,
  params: unknown,
  parts: readonly [CoveringPart, ...CoveringPart[]],
): Promise<CoveringPart> {
  const cover = { from: parts[0].from, to: (parts.at(-1) as CoveringPart).to };
  return { ...cover, bytes: await runFold(calculation, params, { ...cover, parts }) };
}

/** Partials of one chunk each, from the first chunk on. */
export const chunkParts = (parts: readonly Uint8Array[]): CoveringPart[] =>
  parts.map((bytes, from) => ({ from, to: from + 1, bytes }));

/** A fold of partials of one chunk each, which are the whole run. */
export const foldOfChunks = (parts: readonly Uint8Array[]) => ({
  ...coverOf({ from: 0, to: parts.length }, parts.length),
  parts: chunkParts(parts),
});
