import { describe, expect, test } from "vitest";
import * as z from "zod";
import { type AnyCalculation, defineCalculation } from "../../src/engine/calculation/contract.ts";
import { noFiles } from "../../src/engine/calculation/files.ts";
import { decodeKept, type KeptFold } from "../../src/engine/calculation/packFold.ts";
import { type ComputeHooks, runCompute } from "../../src/engine/calculation/runJob.ts";
import { calculationLimits, limits } from "../../src/engine/model/limits.ts";
import { indexesOf } from "../../src/engine/model/packs.ts";

interface Job {
  readonly from: number;
  readonly to: number;
  readonly count: number;
}

const chunks = 13;
const bytes = (...values: number[]): Uint8Array => Uint8Array.from(values);

/**
 * Partials are three bytes that depend on every chunk and on the tree. `merge` changes the memory of its first argument, and the
 * codec hands out the partial itself, both of which a calculation may do.
 */
function marks(bad: ReadonlySet<number>, more: Partial<AnyCalculation> = {}) {
  const computed: number[] = [];
  const calculation: AnyCalculation = {
    ...defineCalculation<object, unknown, Uint8Array, null>({
      name: "marks",
      summary: "",
      params: z.object({}),
      plan: () => chunks,
      compute({ index }) {
        if (bad.has(index)) throw new Error(`no ${index}`);
        computed.push(index);
        return bytes(index, index * 7 + 3, 1);
      },
      merge(a, b) {
        for (const at of a.keys()) a[at] = 31 * (a[at] as number) + 17 * (b[at] as number) + 5;
        return a;
      },
      zero: () => bytes(0, 0, 0),
      finish: () => null,
      codec: {
        contentType: "application/octet-stream",
        encode: (part) => part,
        decode: (all) => all,
      },
    }),
    ...more,
  };
  return { calculation, computed };
}

interface Attempt {
  readonly bytes: Uint8Array | undefined;
  readonly kept: readonly KeptFold[] | undefined;
  readonly computed: readonly number[];
}

/** One attempt at a pack, as a worker makes it; `tolerated`: chunks that the partial may lack. */
async function attempt(
  job: Job,
  bad: ReadonlySet<number>,
  {
    kept,
    tolerated = 0,
    ...more
  }: Partial<AnyCalculation> & {
    readonly kept?: readonly KeptFold[] | undefined;
    readonly tolerated?: number;
  },
): Promise<Attempt> {
  const { calculation, computed } = marks(bad, more);
  let stored: Uint8Array | undefined;
  const hooks: ComputeHooks = {
    async onKept(all) {
      stored = all.slice();
    },
  };
  const gaps = tolerated > 0 ? { most: tolerated, last: true } : undefined;
  const done = await runCompute(calculation, { params: {}, ...job, kept, gaps }, noFiles, hooks).catch(
    () => undefined,
  );
  return { bytes: done, kept: stored && decodeKept(job, stored), computed };
}

const setOf = (job: Job, bits: number): Set<number> =>
  new Set(indexesOf(job).filter((index) => (bits & (1 << (index - job.from))) !== 0));

const jobs: readonly Job[] = [
  { from: 0, to: 8, count: 13 },
  { from: 8, to: 13, count: 13 },
  { from: 3, to: 9, count: 13 },
  { from: 0, to: 5, count: 5 },
  { from: 6, to: 7, count: 13 },
];

describe("a pack whose chunks failed", () => {
  test.each(
    // Of the widest every set of chunks is tried one by one below.
    jobs.flatMap((job) =>
      (job.to - job.from === 8 ? [3] : [1, 3]).flatMap((concurrency) =>
        [0, 9].map((most) => ({ ...job, concurrency, most })),
      ),
    ),
  )(
    "has the bytes of one that was computed whole, and computes no chunk twice, whichever fail: $from to $to of $count, $concurrency at once, $most tolerated",
    async ({ concurrency, most, ...job }) => {
      const whole = await attempt(job, new Set(), { concurrency });
      const sizes = job.to - job.from;
      for (let bits = 0; bits < 1 << sizes; bits += 1) {
        const bad = setOf(job, bits);
        // Another one fails in the second attempt, and one of the first again.
        const second = new Set([...bad].slice(0, 1));
        const options = { concurrency, tolerated: most };
        const first = await attempt(job, bad, options);
        const next = await attempt(job, second, { ...options, kept: first.kept });
        const last = await attempt(job, new Set(), { ...options, kept: next.kept ?? first.kept });
        expect(last.bytes ?? [], `${[...bad]}`).toEqual(whole.bytes);
        // One that is complete before the last attempt is not attempted again.
        const attempts = bad.size === 0 ? [last] : [first, next, last];
        const computed = attempts.flatMap((one) => one.computed);
        expect(
          computed.toSorted((a, b) => a - b),
          `${[...bad]}`,
        ).toEqual(indexesOf(job));
      }
    },
  );

  test("has the fold of the others, whether some of them were kept or none", async () => {
    const [job] = jobs as [Job];
    for (let bits = 1; bits < 255; bits += 1) {
      const bad = setOf(job, bits);
      const first = await attempt(job, bad, { tolerated: 9 });
      const again = await attempt(job, bad, { tolerated: 9, kept: first.kept });
      expect(again.bytes, `${[...bad]}`).toEqual(first.bytes);
      // Nothing new is known.
      expect([again.computed, again.kept], `${[...bad]}`).toEqual([[], undefined]);
    }
  });

  test("keeps the largest spans that are whole", async () => {
    const [job] = jobs as [Job];
    const spans = async (...bad: number[]) =>
      (await attempt(job, new Set(bad), { tolerated: 9 })).kept?.map(({ from, size }) => `${from}+${size}`);
    expect(await spans(3)).toEqual(["0+2", "2+1", "4+4"]);
    expect(await spans(0)).toEqual(["1+1", "2+2", "4+4"]);
    expect(await spans(1, 6)).toEqual(["0+1", "2+2", "4+2", "7+1"]);
    expect(await spans()).toBeUndefined();
    expect(await spans(0, 1, 2, 3, 4, 5, 6, 7)).toBeUndefined();
  });

  test("keeps nothing where a merge throws, a part cannot be encoded, or it is too much", async () => {
    const [job] = jobs as [Job];
    const kept = async (more: Partial<AnyCalculation>, tolerated = 9) =>
      (await attempt(job, new Set([5]), { tolerated, ...more })).kept;
    const merge = () => Promise.reject(new Error("no merge"));
    const encode = () => Promise.reject(new Error("no bytes"));
    const codec = { contentType: "", encode, decode: () => 0 };
    expect([await kept({ merge }), await kept({ merge }, 0), await kept({ codec } as never)]).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
    let merges = 0;
    const late = () => {
      merges += 1;
      if (merges === 2) throw new Error("no second merge");
      return bytes(1);
    };
    // Between two gaps, where one span is with the other already.
    expect((await attempt(job, new Set([1, 5]), { tolerated: 9, merge: late })).kept).toBeUndefined();
    const large = new Uint8Array(calculationLimits.partialBytesMax);
    const padded = { contentType: "", encode: () => large, decode: () => bytes(1) };
    expect(3 * large.length).toBeGreaterThan(limits.foldBytesMax);
    expect(await kept({ codec: padded })).toBeUndefined();
  });

  test("keeps nothing of chunks that share files: which ones do is part of the partial", async () => {
    const output = { contentType: "text/plain", extension: "txt" };
    const compute = ({ index }: { readonly index: number }) =>
      index === 5 ? Promise.reject(new Error("no")) : "";
    const merge = (a: unknown[], b: unknown[]) => [...a, ...b];
    const codec = { contentType: "", encode: () => bytes(), decode: () => [] };
    const made = { output, compute, merge, codec } as unknown as Partial<AnyCalculation>;
    const [job] = jobs as [Job];
    expect((await attempt(job, new Set(), { tolerated: 9, ...made })).kept).toBeUndefined();
  });
});

describe("what is kept", () => {
  const header = (...numbers: number[]): Uint8Array => new Uint8Array(Uint32Array.from(numbers).buffer);
  const pack = { from: 8, to: 13 };

  test("is spans of the pack in order with their bytes", () => {
    const all = Buffer.concat([header(2, 0, 4, 2, 4, 1, 1), bytes(1, 2, 3)]);
    expect(decodeKept(pack, all)).toEqual([
      { from: 8, size: 4, bytes: Buffer.from([1, 2]) },
      { from: 12, size: 1, bytes: Buffer.from([3]) },
    ]);
  });

  test.each([
    ["nothing", bytes()],
    ["less than it says", header(2, 0, 4, 0)],
    ["a number that is cut", Buffer.concat([header(1, 0, 4), bytes(0, 0)])],
    ["a span of no power of two", header(1, 0, 3, 0)],
    ["a span of none", header(1, 0, 0, 0)],
    ["a span that begins nowhere", header(1, 1, 2, 0)],
    ["a span beyond the pack", header(1, 4, 2, 0)],
    ["a span twice", header(2, 0, 2, 0, 0, 2, 0)],
    ["a span within another", header(2, 0, 4, 0, 2, 1, 0)],
    ["bytes that are not there", Buffer.concat([header(1, 0, 4, 3), bytes(1, 2)])],
    ["bytes of no span", Buffer.concat([header(1, 0, 4, 3), bytes(1, 2, 3, 4)])],
  ])("is refused with %s", (_what, all) => {
    expect(() => decodeKept(pack, all)).toThrow("what was kept of chunks 8 to 13");
  });
});
