import { CorruptDataError } from "../model/errors.ts";
import { type Span, spansOf, TreeFold } from "../model/foldTree.ts";
import type { Range } from "../model/packs.ts";
import type { AnyCalculation } from "./contract.ts";
import { decodePart, encodePart, guarded } from "./encodePart.ts";

/**
 * Encoded partials of ranges of chunks. One that covers a span is as the calculation encodes it. Any other, of a pinned
 * pack size or of several shards of such packs, has the folds of all its spans behind each other.
 */

/** An encoded partial, and the chunks that it covers (`coverOf`). */
export interface CoveringPart extends Range {
  readonly bytes: Uint8Array;
}

/** A tree of this calculation's partials. */
export const treeOf = (calculation: AnyCalculation, params: unknown, from: number): TreeFold<unknown> =>
  new TreeFold(from, (left, right) =>
    guarded("merge", () => calculation.merge(left, right, params, undefined)),
  );

/** Joins partials, in index order; what lies between them counts as gaps. */
export async function foldParts(
  calculation: AnyCalculation,
  params: unknown,
  from: number,
  parts: readonly CoveringPart[],
): Promise<TreeFold<unknown>> {
  const tree = treeOf(calculation, params, from);
  for (const part of parts)
    for (const { bytes, ...span } of encodedSpans(part))
      await tree.add(span, await guarded("decode", () => decodePart(calculation, bytes)));
  return tree;
}

type Folded = Awaited<ReturnType<TreeFold<unknown>["end"]>>;

/** Encodes what a tree ended with; `what` names it in errors. A span in which nothing is folded has no bytes. */
export async function encodeSpans(
  calculation: AnyCalculation,
  spans: Folded,
  what?: string,
): Promise<Uint8Array> {
  const encoded: (Uint8Array | undefined)[] = [];
  for (const span of spans)
    encoded.push("part" in span ? await encodePart(calculation, span.part, what) : undefined);
  if (encoded.length === 1) return encoded[0] ?? new Uint8Array(0);
  let end = headerBytes * encoded.length;
  const all = new Uint8Array(encoded.reduce((sum, bytes) => sum + (bytes?.length ?? 0), end));
  const header = new DataView(all.buffer);
  for (const [at, bytes] of encoded.entries()) {
    if (bytes === undefined) continue;
    header.setUint32(headerBytes * at, bytes.length + 1, true);
    all.set(bytes, end);
    end += bytes.length;
  }
  return all;
}

/** Before the spans of a partial: the length of each plus one, or 0 where nothing is folded; little-endian. */
const headerBytes = 4;

/** The encoded spans of a partial in which something is folded. Throws `CorruptDataError` for bytes of other spans. */
function encodedSpans({ from, to, bytes }: CoveringPart): (Span & { readonly bytes: Uint8Array })[] {
  const spans = spansOf({ from, to });
  const [only] = spans;
  if (only !== undefined && spans.length === 1) return [{ ...only, bytes }];
  const found: (Span & { readonly bytes: Uint8Array })[] = [];
  const header = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  let at = headerBytes * spans.length;
  if (at > bytes.length) throw otherSpans(from, to);
  for (const [index, span] of spans.entries()) {
    const length = header.getUint32(headerBytes * index, true);
    if (length === 0) continue;
    const end = at + length - 1;
    if (end > bytes.length) throw otherSpans(from, to);
    found.push({ ...span, bytes: bytes.subarray(at, end) });
    at = end;
  }
  if (at !== bytes.length) throw otherSpans(from, to);
  return found;
}

const otherSpans = (from: number, to: number): CorruptDataError =>
  new CorruptDataError(
    "bad-partial",
    `the partial of chunks ${from} to ${to} does not hold the spans of these`,
  );
