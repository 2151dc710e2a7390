import { shrink, wholeBetween } from "./draw.ts";
import { broken, reasonOf, sidesOf, type Verdict } from "./findings.ts";
import { foldedBytes } from "./partialLaws.ts";
import { bytesOf, decoded, mergeOf, randomRunsMs, type Subject, same, stopwatch, zeroOf } from "./subject.ts";

const few = "there are too few chunks: give parameters that make three or more";

/**
 * Checks what `merge` changes. It may change `a` and return it, which keeps a large accumulator fast, because nothing
 * reads `a` again. It must not change `b`, nor `a` if it returns something else, nor what `zero` gives next.
 */
export async function argumentsLaw(subject: Subject): Promise<Verdict> {
  const { partials } = subject;
  const zero = await bytesOf(subject, await zeroOf(subject));
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
  const [first] = partials;
  if (first === undefined) return { unchecked: few };
  await mergeOf(subject, await zeroOf(subject), await decoded(subject, first));
  const next = await bytesOf(subject, await zeroOf(subject));
  if (!same(zero, next)) return changed("chunk 0: merge(zero, a) changes what zero gives next", zero, next);
  return { tried: `${partials.length} merges` };
}

const changed = (example: string, before: Uint8Array, after: Uint8Array): Verdict =>
  broken(
    example,
    "merge writes into an object that it was given, or zero gives the same object each time",
    "build a new partial in merge, or change only a and return it; let zero make a new one each time",
    sidesOf("before", before, "after", after),
  );

/** Checks `zero` on both sides of each partial, and of all of them merged. */
export async function zeroLaw(subject: Subject): Promise<Verdict> {
  const { partials } = subject;
  if (partials.length === 0) return { unchecked: few };
  const named = partials.map((bytes, index) => ({ name: `chunk ${index}`, bytes }));
  named.sort((a, b) => a.bytes.length - b.bytes.length);
  if (partials.length > 1) named.push({ name: "all chunks", bytes: await foldedBytes(subject, partials) });
  for (const { name, bytes } of named) {
    for (const form of ["zero·x", "x·zero"] as const) {
      const [zero, x] = [await zeroOf(subject), await decoded(subject, bytes)];
      const merged = form === "zero·x" ? await mergeOf(subject, zero, x) : await mergeOf(subject, x, zero);
      const got = await bytesOf(subject, merged);
      if (same(bytes, got)) continue;
      return broken(
        `${name}: ${form} is not x`,
        "zero is not the value that changes nothing, such as 0 of a sum, 1 of a product or an empty list",
        "for a minimum or maximum let zero be null, and let merge return the other side",
        sidesOf("x", bytes, form, got),
      );
    }
  }
  return { tried: `both sides of ${partials.length} partials` };
}

/** Neighbors `[from, second)`, `[second, third)` and `[third, to)`. */
interface Triple {
  readonly from: number;
  readonly second: number;
  readonly third: number;
  readonly to: number;
}

/** Checks every three neighboring chunks, then random neighboring stretches. */
export async function associativeLaw(subject: Subject): Promise<Verdict> {
  const { partials, runs, draw } = subject;
  const chunks = partials.length;
  if (chunks < 3) return { unchecked: few };
  const fails = async (triple: Triple): Promise<boolean> => {
    const [left, right] = await bothWays(subject, triple);
    return !same(left, right);
  };
  const explained = async (triple: Triple): Promise<Verdict> => {
    const [left, right] = await bothWays(subject, triple);
    const reason = reasonOf(left, right);
    return broken(
      `${namesOf(triple)}: (a·b)·c is not a·(b·c)`,
      reason?.likely ?? "merge treats its two sides differently, or counts its calls",
      reason?.cure ??
        "keep values in a partial whose merge does not depend on the order, such as sum and count instead of a mean",
      sidesOf("(a·b)·c", left, "a·(b·c)", right),
    );
  };
  const timeIsUp = stopwatch(subject, randomRunsMs);
  let from = 0;
  for (; from + 3 <= chunks && !timeIsUp(); from += 1) {
    const triple = { from, second: from + 1, third: from + 2, to: from + 3 };
    if (await fails(triple)) return explained(triple);
  }
  let run = 0;
  for (; run < runs && !timeIsUp(); run += 1) {
    const from = wholeBetween(draw, 0, chunks - 2);
    const second = wholeBetween(draw, from + 1, chunks - 1);
    const third = wholeBetween(draw, second + 1, chunks);
    const triple = { from, second, third, to: wholeBetween(draw, third + 1, chunks + 1) };
    if (await fails(triple)) return explained(await shrink(triple, smallerTriples, fails));
  }
  return { tried: `${from} neighbors, ${run} random stretches` };
}

/** Shorter stretches: first by much, then by one chunk. */
function* smallerTriples({ from, second, third, to }: Triple): Generator<Triple> {
  if (second - from > 1) {
    yield { from: second - 1, second, third, to };
    yield { from: from + 1, second, third, to };
  }
  if (to - third > 1) {
    yield { from, second, third, to: third + 1 };
    yield { from, second, third, to: to - 1 };
  }
  if (third - second > 1) {
    yield { from: from + third - second - 1, second: third - 1, third, to };
    yield { from: from + 1, second: second + 1, third, to };
  }
}

async function bothWays(subject: Subject, triple: Triple): Promise<readonly [Uint8Array, Uint8Array]> {
  const { from, second, third, to } = triple;
  const fold = (start: number, end: number) => foldedBytes(subject, subject.partials.slice(start, end));
  const [a, b, c] = [await fold(from, second), await fold(second, third), await fold(third, to)];
  const left = await foldedBytes(subject, [await foldedBytes(subject, [a, b]), c]);
  const right = await foldedBytes(subject, [a, await foldedBytes(subject, [b, c])]);
  return [left, right];
}

const namesOf = ({ from, second, third, to }: Triple): string =>
  to - from === 3
    ? `chunks ${from}, ${second}, ${third}`
    : `a = ${stretch(from, second)}, b = ${stretch(second, third)}, c = ${stretch(third, to)}`;

const stretch = (from: number, to: number): string =>
  to - from === 1 ? `chunk ${from}` : `chunks ${from} to ${to - 1}`;
