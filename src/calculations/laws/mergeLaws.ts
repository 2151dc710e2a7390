import { broken, sidesOf, type Verdict } from "./findings.ts";
import { foldedBytes } from "./partialLaws.ts";
import { bytesOf, decoded, mergeOf, type Subject, same, stopwatch } from "./subject.ts";

/**
 * Checks what `merge` changes. It may change `a` and return it, which keeps a large accumulator fast, because nothing
 * reads `a` again. It must not change `b`, nor `a` if it returns something else.
 */
export async function argumentsLaw(subject: Subject): Promise<Verdict> {
  const { partials } = subject;
  for (let index = 0; index < partials.length; index += 1) {
    const [bytesA, bytesB] = [partials[Math.max(0, index - 1)], partials[index]] as [Uint8Array, Uint8Array];
    const [a, b] = [await decoded(subject, bytesA), await decoded(subject, bytesB)];
    const merged = await mergeOf(subject, a, b);
    const [nowA, nowB] = [await bytesOf(subject, a), await bytesOf(subject, b)];
    const pair = `chunks ${Math.max(0, index - 1)}, ${index}`;
    if (!same(bytesB, nowB)) return changed(`${pair}: merge(a, b) changes b`, bytesB, nowB);
    if (merged !== a && !same(bytesA, nowA))
      return changed(`${pair}: merge(a, b) changes a and returns another`, bytesA, nowA);
  }
  if (partials.length === 0) return { unchecked: "there are no chunks" };
  return { tried: `${partials.length} merges` };
}

const changed = (example: string, before: Uint8Array, after: Uint8Array): Verdict =>
  broken(
    example,
    "merge writes into an object that it was given",
    "build a new partial in merge, or change only a and return it",
    sidesOf("before", before, "after", after),
  );

/** The first three neighbors whose merge depends on which two are joined first; undefined if none of them does. */
export async function orderedMerge(subject: Subject): Promise<string | undefined> {
  const { partials } = subject;
  const timeIsUp = stopwatch(subject, orderMs);
  for (let from = 0; from + 3 <= partials.length && !timeIsUp(); from += 1) {
    const [a, b, c] = partials.slice(from, from + 3) as [Uint8Array, Uint8Array, Uint8Array];
    const left = await foldedBytes(subject, [a, b, c]);
    const right = await foldedBytes(subject, [a, await foldedBytes(subject, [b, c])]);
    if (!same(left, right)) return `chunks ${from}, ${from + 1}, ${from + 2}`;
  }
  return undefined;
}

/** Advice is worth no more time than this. */
const orderMs = 250;
