import { runCompute } from "../../../../src/engine/calculation/runJob.ts";
import { setUp } from "../../../../src/engine/calculation/shared.ts";
import { spread } from "../../../../src/engine/calculation/timeChunks.ts";
import { CalculationError, failRunCode, laterCode } from "../../../../src/engine/model/errors.ts";
import { type Breach, broken, sidesOf, type Verdict } from "./findings.ts";
import { bytesOf, chunkName, computeOf, pause, type Subject, same } from "./subject.ts";

/** The first pass over the chunks ends after this time, but not before three chunks, which the laws need. */
const firstPassMs = 500;
const chunksMin = 3;
const keptPartialBytesMax = 64 * 1024 * 1024;
/** Chunks that are computed beside the first ones. */
const elsewhere = 5;

/**
 * Computes the first chunks and a few others in order, and then all of them in reverse. So it finds random numbers and
 * times, and also what a chunk leaves behind for the next one. Chunks that throw are left out. Where the calculation says that its inputs are all that counts,
 * the second pass computes them at other indices.
 */
export async function computeLaw(subject: Subject): Promise<Verdict> {
  const { clock, calculation, params, files } = subject;
  const first = await setUp(calculation, params, files);
  subject.calculation = first;
  const before = subject.calculation.byInput === true && subject.inputs !== undefined ? 1 : 0;
  const once = await firstPass(subject);
  for (const index of others(subject)) {
    if (once.has(index) || subject.thrown.has(index)) continue;
    const bytes = await bytesUnlessThrown(subject, index);
    if (bytes !== undefined) once.set(index, bytes);
  }
  await pause(subject);
  // As another thread would have it.
  subject.calculation = await setUp(calculation, params, files);
  const times: number[] = [];
  const idleBeforeMs = clock?.idleMs?.() ?? 0;
  const differing: { readonly index: number; readonly a: Uint8Array; readonly b: Uint8Array }[] = [];
  for (const [index, a] of [...once].reverse()) {
    const startedMs = clock?.monotonicMs() ?? 0;
    const b = await computedBytes(subject, index, before);
    times.push((clock?.monotonicMs() ?? 0) - startedMs);
    if (!same(a, b)) differing.push({ index, a, b });
  }
  // The median, because other work on the machine delays some chunks.
  const allMs = times.reduce((sum, ms) => sum + ms, 0);
  if (clock?.idleMs !== undefined) subject.waits = (clock.idleMs() - idleBeforeMs) / Math.max(allMs, 1);
  if (clock !== undefined) subject.chunkMs = times.sort((a, b) => a - b)[times.length >> 1];
  const smallest = differing.sort((x, y) => x.a.length - y.a.length || x.index - y.index)[0];
  const together = smallest === undefined ? await atOnceBreach(subject) : undefined;
  if (together !== undefined) return together;
  if (smallest === undefined)
    return { tried: `${once.size} of ${subject.count.toLocaleString("en-US")} chunks, also in reverse` };
  const { index, a, b } = smallest;
  const many = `${differing.length} of ${once.size} chunks differ`;
  const what = chunkName(subject, index);
  if (before > 0 && same(a, await computedBytes(subject, index)))
    return broken(
      `${what}: at another index it gives other bytes`,
      `byInput says that compute uses neither index nor count; ${many}`,
      "leave byInput out, or use nothing but input and params",
      sidesOf("at its index", a, "at another", b),
    );
  if (calculation.setup !== undefined) {
    const second = subject.calculation;
    subject.calculation = first;
    const bySetup = same(a, await computedBytes(subject, index));
    subject.calculation = second;
    if (bySetup)
      return broken(
        `${what}: after another call of setup it gives other bytes`,
        `random numbers, the time, or a variable outside setup that it changes; ${many}`,
        "make what setup gives from params and files alone: each thread calls it",
        sidesOf("by the first setup", a, "by the second", b),
      );
  }
  // Right after itself a chunk finds what it left behind, whatever that is.
  await computedBytes(subject, index);
  const again = await computedBytes(subject, index);
  await pause(subject);
  const keeps = same(again, await computedBytes(subject, index));
  if (keeps)
    return broken(
      `${what}: it depends on which chunk was computed before`,
      `a variable outside compute keeps state, such as a cache, a total or a random generator; ${many}`,
      "start each chunk without state; a thread computes any chunks in any order",
      sidesOf("in order", a, "in reverse", b),
    );
  return broken(
    `${what}: computed again, it gives other bytes`,
    `random numbers, the time, or a variable outside compute that it changes; ${many}`,
    "use only params, index and input; draw random numbers from a generator seeded with params and index",
    sidesOf("once", a, "again", b),
  );
}

/** Chunks that a thread computes at the same time must not meet in what they share. */
async function atOnceBreach(subject: Subject): Promise<Verdict | undefined> {
  const { calculation, params, files, count, inputs, tried, thrown } = subject;
  const { concurrency = 1 } = calculation;
  const to = Math.min(tried, 2 * concurrency);
  if (concurrency === 1 || to < 2 || thrown.size > 0) return undefined;
  const listed = Array.from({ length: to }, (_, index) => inputs?.get(index)?.input);
  const pack = { params, from: 0, to, count, ...(inputs === undefined ? {} : { inputs: listed }) };
  const [alone, together] = [
    await runCompute(calculation, { ...pack, atOnceMax: 1 }, files),
    await runCompute(calculation, pack, files),
  ];
  if (same(alone, together)) return undefined;
  return broken(
    `chunks 0–${to - 1}: computed at the same time, they give other bytes`,
    `a variable outside compute that chunks change while others wait; concurrency is ${concurrency}`,
    "keep what a chunk computes in its own variables, or leave concurrency out",
    sidesOf("one after the other", alone, "at the same time", together),
  );
}

const computedBytes = async (subject: Subject, index: number, before = 0): Promise<Uint8Array> =>
  bytesOf(subject, await computeOf(subject, index, before), `the partial of chunk ${index}`);

/** Computes the first chunks in order, until there are enough or the time is up. */
async function firstPass(subject: Subject): Promise<Map<number, Uint8Array>> {
  const { clock, count, chunksWanted } = subject;
  const endMs = (clock?.monotonicMs() ?? 0) + firstPassMs;
  const timeIsUp = (): boolean => clock !== undefined && clock.monotonicMs() > endMs;
  const partials = new Map<number, Uint8Array>();
  let [bytes, index] = [0, 0];
  const enough = (): boolean => index >= chunksMin && (bytes > keptPartialBytesMax || timeIsUp());
  for (; index < Math.min(count, chunksWanted) && !enough(); index += 1) {
    const partial = await bytesUnlessThrown(subject, index);
    if (partial === undefined) continue;
    partials.set(index, partial);
    bytes = Math.max(bytes + partial.length, subject.keptBytes());
  }
  subject.tried = index;
  subject.partials = partials;
  return new Map(partials);
}

/** Undefined for a chunk whose `compute` throws, which the subject then lists. */
async function bytesUnlessThrown(subject: Subject, index: number): Promise<Uint8Array | undefined> {
  let part: unknown;
  try {
    part = await computeOf(subject, index);
  } catch (error) {
    if (!(error instanceof CalculationError) || error.code === failRunCode) throw error;
    subject.thrown.set(index, error);
    return undefined;
  }
  return await bytesOf(subject, part, `the partial of chunk ${index}`);
}

/** What the first of the chunks that threw said; the other laws are tried without them. */
export function thrownBreach(subject: Subject): Breach | undefined {
  const [first, ...more] = [...subject.thrown].sort(([a], [b]) => a - b);
  if (first === undefined) return undefined;
  const [index, { code, message, details }] = first;
  const example = message.startsWith("chunk ") ? message : `${chunkName(subject, index)}: ${message}`;
  const others =
    more.length === 0
      ? ""
      : `, also for chunks ${more
          .slice(0, 5)
          .map(([one]) => one)
          .join(", ")}`;
  return {
    example,
    likely: `${code === laterCode ? `your code asks to be tried again in ${details["laterS"]} s` : "your code threw"}${others}${more.length > 5 ? ` and ${more.length - 5} more` : ""}`,
    cure:
      `"leasefold try" with --chunk ${index} computes it alone and shows the stack; ` +
      (code === laterCode
        ? "a run waits for such a chunk, for a day at most, and a check does not"
        : "a chunk that throws in each attempt fails its run, unless the run tolerates it"),
  };
}

/** Chunks spread over the run, and its last one, which is often short. */
function others({ count, inputs, chunksWanted }: Subject): readonly number[] {
  if (count <= chunksWanted) return count === 0 ? [] : [count - 1];
  const listed =
    inputs === undefined ? undefined : [...inputs.keys()].filter((index) => index >= chunksWanted);
  return [...(listed ?? spread(count, elsewhere)).slice(0, elsewhere), count - 1];
}
