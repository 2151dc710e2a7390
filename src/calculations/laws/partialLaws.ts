import { calculationLimits } from "../../model/limits.ts";
import { broken, reasonOf, sidesOf, type Verdict } from "./findings.ts";
import { bytesOf, computeOf, decoded, mergeOf, type Subject, same } from "./subject.ts";

/** Pairs of partials that are merged both fresh and decoded. */
const freshPairs = 8;

/** Folds more and more chunks. A partial over the limit throws, so this law holds if it returns. */
export async function sizeLaw(subject: Subject): Promise<Verdict> {
  const { partials } = subject;
  if (partials.length === 0) return { unchecked: "there are no chunks" };
  const largest = Math.max(...partials.map(({ length }) => length));
  let merged = partials[0] as Uint8Array;
  for (let chunks = 1; chunks < partials.length; chunks *= 2) {
    merged = await foldedBytes(subject, [merged, ...partials.slice(chunks, 2 * chunks)]);
  }
  return { tried: `largest ${bytesText(largest)}, ${partials.length} merged ${bytesText(merged.length)}` };
}

const bytesText = (bytes: number): string =>
  bytes < 10_000 ? `${bytes} B` : `${Math.round(bytes / 1000).toLocaleString("en-US")} KB`;

/** The reason of the limit, and how to stay below it. */
export const tooLarge = {
  likely: `folds hold partials in memory, so ${calculationLimits.partialBytesMax} bytes are the limit`,
  cure: "keep sums, counts, extremes or sketches instead of rows; make smaller chunks if one is too large",
};

/** Encodes, decodes and encodes again; and compares merges of decoded partials with merges of fresh ones. */
export async function codecLaw(subject: Subject): Promise<Verdict> {
  const { partials } = subject;
  for (const [index, bytes] of smallestFirst(subject)) {
    const again = await bytesOf(subject, await decoded(subject, bytes));
    if (same(bytes, again)) continue;
    return broken(
      `the partial of chunk ${index} encodes to other bytes after it was decoded`,
      reasonOf(bytes, again)?.likely ?? "decode does not return all that encode was given",
      reasonOf(bytes, again)?.cure ?? "write and read every field, with its exact value, in the same order",
      sidesOf("encoded", bytes, "again", again),
    );
  }
  for (let index = 0; index + 1 < Math.min(partials.length, 2 * freshPairs); index += 2) {
    const unlike = await mergedUnlike(subject, index);
    if (unlike !== undefined) return unlike;
  }
  return { tried: `${partials.length} partials, encoded and decoded` };
}

/** Indexes and partials, by the partials' length. */
const smallestFirst = ({ partials }: Subject): (readonly [number, Uint8Array])[] =>
  [...partials.entries()].sort(([, a], [, b]) => a.length - b.length);

async function mergedUnlike(subject: Subject, index: number): Promise<Verdict | undefined> {
  const fresh = await attempt(async () => {
    const [a, b] = [await computeOf(subject, index), await computeOf(subject, index + 1)];
    return bytesOf(subject, await mergeOf(subject, a, b));
  });
  // A merge that fails on fresh partials too is not the codec's fault.
  if (fresh instanceof Error) return undefined;
  const through = await attempt(() => foldedBytes(subject, subject.partials.slice(index, index + 2)));
  const threw = through instanceof Error;
  if (!threw && same(fresh, through)) return undefined;
  const sides = threw ? undefined : sidesOf("fresh", fresh, "decoded", through);
  return broken(
    `chunks ${index}, ${index + 1}: decoded partials merge unlike fresh ones${threw ? `: ${through.message}` : ""}`,
    "a partial has something that its bytes do not have, such as a method or a hidden field",
    "encode everything that merge uses",
    sides,
  );
}

/** Folds decoded partials in order. */
export async function foldedBytes(subject: Subject, partials: readonly Uint8Array[]): Promise<Uint8Array> {
  let folded = await decoded(subject, partials[0] as Uint8Array);
  for (const bytes of partials.slice(1))
    folded = await mergeOf(subject, folded, await decoded(subject, bytes));
  return bytesOf(subject, folded);
}

const attempt = <T>(run: () => Promise<T>): Promise<T | Error> =>
  run().catch((error: unknown) => (error instanceof Error ? error : new Error(String(error))));
