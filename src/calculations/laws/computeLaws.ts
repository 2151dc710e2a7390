import { spread } from "../timeChunks.ts";
import { broken, sidesOf, type Verdict } from "./findings.ts";
import { pauseMs } from "./inputLaws.ts";
import { computedBytes, type Subject, same, stopwatch } from "./subject.ts";

/** The first pass over the chunks ends after this time, but not before three chunks, which the laws need. */
const firstPassMs = 500;
const chunksMin = 3;
const keptPartialBytesMax = 64 * 1024 * 1024;
/** Chunks that are computed beside the first ones. */
const elsewhere = 5;

/**
 * Computes the first chunks twice, in the same order each time, and a few others as well. State that a chunk leaves
 * for the next one is the same in both passes; `stateLaw` finds it. So the very first pass is not compared here.
 */
export async function computeLaw(subject: Subject): Promise<Verdict> {
  const { clock } = subject.options;
  const chunks = await firstPass(subject);
  const indexes = [...new Set([...chunks, ...others(subject)])];
  const once: Uint8Array[] = [];
  const times: number[] = [];
  for (const index of indexes) {
    const startedMs = clock?.monotonicMs() ?? 0;
    once.push(await computedBytes(subject, index));
    times.push((clock?.monotonicMs() ?? 0) - startedMs);
  }
  // The median, because other work on the machine delays some chunks.
  if (clock !== undefined) subject.chunkMs = times.sort((a, b) => a - b)[times.length >> 1];
  await clock?.sleep(pauseMs);
  const differing: { readonly index: number; readonly a: Uint8Array; readonly b: Uint8Array }[] = [];
  for (const [i, index] of indexes.entries()) {
    const [a, b] = [once[i] as Uint8Array, await computedBytes(subject, index)];
    if (!same(a, b)) differing.push({ index, a, b });
  }
  const smallest = differing.sort((x, y) => x.a.length - y.a.length || x.index - y.index)[0];
  if (smallest === undefined)
    return { tried: `${indexes.length} of ${subject.count.toLocaleString("en-US")} chunks twice` };
  const { index, a, b } = smallest;
  const many = `${differing.length} of ${indexes.length} chunks differ`;
  return broken(
    `chunk ${index}${inputText(subject, index)}: computed again, it gives other bytes`,
    `${impureCall(subject) ?? "random numbers, the time, or a variable outside compute that it changes"}; ${many}`,
    "use only params, index and input; draw random numbers from a generator seeded with params and index",
    sidesOf("once", a, "again", b),
  );
}

/** Computes the first chunks in order, until there are enough or the time is up. */
async function firstPass(subject: Subject): Promise<readonly number[]> {
  const timeIsUp = stopwatch(subject, firstPassMs);
  const partials: Uint8Array[] = [];
  let bytes = 0;
  const enough = (): boolean => partials.length >= chunksMin && (bytes > keptPartialBytesMax || timeIsUp());
  while (partials.length < Math.min(subject.count, subject.chunksWanted) && !enough()) {
    const partial = await computedBytes(subject, partials.length);
    partials.push(partial);
    bytes += partial.length;
  }
  subject.partials = partials;
  return [...partials.keys()];
}

/** Chunks spread over the run, and its last one, which is often short. */
function others({ count, inputs, chunksWanted }: Subject): readonly number[] {
  if (count <= chunksWanted) return count === 0 ? [] : [count - 1];
  const listed =
    inputs === undefined ? undefined : [...inputs.keys()].filter((index) => index >= chunksWanted);
  return [...(listed ?? spread(count, elsewhere)).slice(0, elsewhere), count - 1];
}

/** Computes the first chunks in reverse: a partial must not depend on the chunk computed before. */
export async function stateLaw(subject: Subject): Promise<Verdict> {
  const { partials } = subject;
  if (partials.length < 2)
    return { unchecked: `there ${partials.length === 1 ? "is one chunk" : "are no chunks"}` };
  const reversed: Uint8Array[] = [];
  for (const index of partials.keys())
    reversed.unshift(await computedBytes(subject, partials.length - 1 - index));
  const index = partials.findIndex((bytes, i) => !same(bytes, reversed[i] as Uint8Array));
  if (index < 0) return { tried: `${partials.length} chunks, also in reverse` };
  const before = index === 0 ? "as the first of all" : `after chunk ${index - 1}`;
  return broken(
    `chunk ${index}${inputText(subject, index)}: it depends on which chunk was computed before`,
    "a variable outside compute keeps state, such as a cache, a total or a random generator",
    "start each chunk without state; a thread computes any chunks in any order",
    sidesOf(
      before,
      partials[index] as Uint8Array,
      `after chunk ${Math.min(index + 1, partials.length - 1)}`,
      reversed[index] as Uint8Array,
    ),
  );
}

const inputShown = 40;
function inputText({ inputs }: Subject, index: number): string {
  if (inputs === undefined) return "";
  const text = JSON.stringify(inputs.get(index)) ?? "";
  return ` (${text.length <= inputShown ? text : `${text.slice(0, inputShown - 1)}…`})`;
}

/** The impure call of `compute`: one that was watched, or else one that its text names. */
function impureCall({ source, options: { randomCalled } }: Subject): string | undefined {
  const called = randomCalled?.();
  if (called !== undefined) return `compute calls ${called}`;
  const named = /Math\.random|Date\.now|new Date\(\)|performance\.now|random(UUID|Bytes|Int)/g;
  const found = (source.match(named) ?? []).find(
    (one) => randomCalled === undefined || !one.startsWith("Math"),
  );
  return found && `compute uses ${found}`;
}
