import { CorruptDataError } from "../model/errors.ts";
import type { Span, TreeFold } from "../model/foldTree.ts";
import { limits } from "../model/limits.ts";
import type { Range } from "../model/packs.ts";
import type { AnyCalculation } from "./contract.ts";
import { decodePart, encodePart, guarded } from "./encodePart.ts";
import { treeOf } from "./foldParts.ts";

/**
 * Folds the chunks of a pack as they come, and keeps what another attempt can begin with where some are missing: the folds of
 * the largest spans that are whole, encoded. A span that lacks a chunk is worth nothing to it, because the chunk is merged below.
 *
 * Not promised: that anything is kept. What cannot be encoded, or is larger than one fold may be, is computed again.
 */
export interface KeptFold extends Span {
  readonly bytes: Uint8Array;
}

interface PackFoldOptions {
  /** What earlier attempts kept of this pack. */
  readonly before: readonly KeptFold[];
  readonly keeps: boolean;
}

export function packFold(
  calculation: AnyCalculation,
  { params, from, to, coverTo }: Range & { readonly params: unknown; readonly coverTo: number },
  { before, keeps }: PackFoldOptions,
) {
  /** Gets the spans on both sides of each gap. */
  const all = treeOf(calculation, params, from);
  /** The chunks since the last gap, up to `at`. */
  let run = treeOf(calculation, params, from);
  let at = from;
  let hasGaps = false;
  let computed = 0;
  const left = [...before];
  let kept: KeptFold[] | undefined = keeps ? [] : undefined;
  let keptBytes = 0;

  async function keep({ from: first, size, part }: Span & { readonly part?: unknown }): Promise<void> {
    if (kept === undefined) return;
    try {
      // A copy: both the part and what `encode` gave may be the memory that the next merge changes.
      const bytes = (await encodePart(calculation, part)).slice();
      keptBytes += bytes.length + 3 * numberBytes;
      if (numberBytes + keptBytes > limits.foldBytesMax) kept = undefined;
      else kept.push({ from: first, size, bytes });
    } catch {
      kept = undefined;
    }
  }

  async function closeRun(folds: boolean): Promise<void> {
    for (const { part, ...span } of await run.end(at)) {
      await keep({ ...span, part });
      if (folds) await all.add(span, part);
    }
  }

  async function put(span: Span, part: () => unknown, folds: boolean): Promise<void> {
    if (span.from > at) {
      await closeRun(folds);
      run = treeOf(calculation, params, span.from);
      hasGaps = true;
    }
    await run.add(span, await part());
    at = span.from + span.size;
  }

  async function putBefore(index: number, folds: boolean): Promise<void> {
    for (let [next] = left; next !== undefined && next.from < index; [next] = left) {
      left.shift();
      const { bytes, ...span } = next;
      await put(span, () => decoded(calculation, bytes), folds);
    }
  }

  async function add(index: number, part: unknown, folds: boolean): Promise<void> {
    try {
      await putBefore(index, folds);
      await put({ from: index, size: 1 }, () => part, folds);
    } catch (error) {
      // A merge that throws leaves no tree to keep.
      kept = undefined;
      throw error;
    }
    computed += 1;
  }

  return {
    /** Chunks come in order; one that is passed over is a gap. */
    add: (index: number, part: unknown): Promise<void> => add(index, part, true),
    /** The largest spans of the pack, as `TreeFold` gives them. */
    async end(): ReturnType<TreeFold<unknown>["end"]> {
      await putBefore(to, true);
      if (!hasGaps && at === to) return run.end(coverTo);
      await closeRun(true);
      return all.end(coverTo);
    },
    /** After `end`: what is kept of a pack with gaps; undefined where that is nothing new. */
    kept: (): Uint8Array | undefined => (computed === 0 ? undefined : encodeKept(from, kept)),
    /** In place of `end`: what is kept of a pack that has failed, with further chunks that were computed by then. */
    async keptOf(others: ReadonlyMap<number, unknown>): Promise<Uint8Array | undefined> {
      try {
        if (kept !== undefined) {
          for (const [index, part] of others) await add(index, part, false);
          await putBefore(to, false);
          await closeRun(false);
        }
      } catch {
        // The pack fails for another reason already.
        return undefined;
      }
      return computed === 0 ? undefined : encodeKept(from, kept);
    },
  };
}

const decoded = (calculation: AnyCalculation, bytes: Uint8Array): Promise<unknown> =>
  guarded("decode", () => decodePart(calculation, bytes.slice()));

/** Numbers before the folds: how many there are, and of each its first chunk in the pack, its chunks and its bytes; little-endian. */
const numberBytes = 4;

function encodeKept(first: number, kept: readonly KeptFold[] | undefined): Uint8Array | undefined {
  if (kept === undefined || kept.length === 0) return undefined;
  const numbers = [
    kept.length,
    ...kept.flatMap(({ from, size, bytes }) => [from - first, size, bytes.length]),
  ];
  let end = numberBytes * numbers.length;
  const all = new Uint8Array(kept.reduce((sum, { bytes }) => sum + bytes.length, end));
  const header = new DataView(all.buffer);
  for (const [at, number] of numbers.entries()) header.setUint32(numberBytes * at, number, true);
  for (const { bytes } of kept) {
    all.set(bytes, end);
    end += bytes.length;
  }
  return all;
}

/** Throws `CorruptDataError` for anything but spans of the pack in order. */
export function decodeKept({ from, to }: Range, all: Uint8Array): KeptFold[] {
  const header = new DataView(all.buffer, all.byteOffset, all.length);
  const number = (at: number): number => {
    if (numberBytes * (at + 1) > all.length) throw otherFolds(from, to);
    return header.getUint32(numberBytes * at, true);
  };
  const count = number(0);
  const kept: KeptFold[] = [];
  let [next, end] = [from, numberBytes * (1 + 3 * count)];
  for (let at = 1; at <= 3 * count; at += 3) {
    const [first, size, length] = [from + number(at), number(at + 1), number(at + 2)];
    const isSpan = Number.isInteger(Math.log2(size)) && first % size === 0;
    if (!isSpan || first < next || first + size > to || end + length > all.length) throw otherFolds(from, to);
    kept.push({ from: first, size, bytes: all.subarray(end, end + length) });
    [next, end] = [first + size, end + length];
  }
  if (end !== all.length) throw otherFolds(from, to);
  return kept;
}

const otherFolds = (from: number, to: number): CorruptDataError =>
  new CorruptDataError("bad-kept", `what was kept of chunks ${from} to ${to} does not hold spans of these`);
