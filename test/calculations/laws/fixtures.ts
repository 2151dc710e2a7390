import * as z from "zod";
import type { AnyCalculation } from "../../../src/engine/calculation/contract.ts";
import type { LawName } from "../../../src/engine/calculation/laws/findings.ts";

/** Keeps every law: the sum of the chunk indexes, and how many there were. */
export const sound: AnyCalculation = {
  name: "sound",
  summary: "",
  params: z.strictObject({ chunks: z.number().default(20) }),
  plan: ({ chunks }: { chunks: number }) => chunks,
  compute: ({ index }) => ({ sum: index, chunks: 1 }),
  merge: (a, b) => ({ sum: a.sum + b.sum, chunks: a.chunks + b.chunks }),
  zero: () => ({ sum: 0, chunks: 0 }),
  finish: ({ sum, chunks }) => ({ sum, chunks }),
};

const sums = { merge: (a: number, b: number) => a + b, zero: () => 0, finish: (sum: number) => ({ sum }) };

/** A partial of `n` has so many megabytes. */
const megabytes: Partial<AnyCalculation> = {
  ...sums,
  codec: {
    contentType: "application/octet-stream",
    encode: (part: number) => new Uint8Array(part * 1024 * 1024),
    decode: (bytes: Uint8Array) => bytes.length / 1024 / 1024,
  },
};

/** Numbers of one seed, drawn anew each time they are asked for. */
function drawn(): () => number {
  let state = 1;
  return () => {
    state = (state * 48_271) % 2_147_483_647;
    return state;
  };
}

export interface BrokenFixture {
  readonly name: string;
  readonly law: LawName;
  /** As its module would be loaded: what it keeps outside its functions begins afresh. */
  readonly make: () => Partial<AnyCalculation>;
  readonly params?: unknown;
  /** What the breach says: smallest example, values, likely cause. */
  readonly example: RegExp | string;
  readonly sides?: readonly [string, string];
  readonly likely?: RegExp;
  /** Only some chunks throw, so that the other laws can be tried. */
  readonly throws?: true;
}

/** Each breaks one law, and that one only. */
export const brokenFixtures: readonly BrokenFixture[] = [
  {
    name: "a parameter that is a Date",
    law: "params",
    make: () => ({}),
    params: { chunks: 20, since: { day: new Date(0) } },
    example: 'parameter since.day is a Date, which JSON makes "1970-01-01T00:00:00.000Z"',
  },
  {
    name: "a plan of another length each time",
    law: "plan",
    make: () => {
      let asked = 9;
      return { plan: () => ++asked };
    },
    example: "plan gives another number of chunks when it is called again",
    sides: ["10 chunks", "11 chunks"],
  },
  {
    name: "a plan with a time in its inputs",
    law: "plan",
    make: () => {
      const draw = drawn();
      return { plan: () => ["a", "b", draw()] };
    },
    example: "the input of chunk 2 differs when plan is called again",
    sides: ["48271", "182605794"],
  },
  {
    name: "a plan of half a chunk",
    law: "plan",
    make: () => ({ plan: () => 2.5 }),
    example: /2\.5 chunks; a whole number is needed/,
  },
  {
    name: "a plan that throws",
    law: "plan",
    make: () => ({
      plan: () => {
        throw new Error("no such folder");
      },
    }),
    example: "plan: no such folder",
    likely: /your code threw/,
  },
  {
    name: "an input that is a Date",
    law: "inputs",
    make: () => ({ plan: () => [{ row: 1 }, { row: 2, by: new Date(0) }, { by: new Date(0) }] }),
    example: 'input of chunk 2: by is a Date, which JSON makes "1970-01-01T00:00:00.000Z"',
    likely: /compute gets \{"by":"1970-01-01T00:00:00\.000Z"\} there/,
  },
  {
    name: "an input that is a Map",
    law: "inputs",
    make: () => ({ plan: () => [{ row: 1 }, { row: 2, by: new Map([["a", 1]]) }] }),
    example: "the input of chunk 1 cannot be JSON: by is a Map, which would become {}; write [...map]",
  },
  {
    name: "an input of more than 64 KB",
    law: "inputs",
    make: () => ({ plan: () => ["x".repeat(70_000)] }),
    example: /input of chunk 0 has 70002 bytes/,
  },
  {
    name: "random numbers in compute",
    law: "compute",
    make: () => ({ ...sums, compute: () => Math.random() }),
    example: /^chunk \d+: computed again, it gives other bytes$/,
    likely: /^random numbers, .*; 20 of 20 chunks differ/,
  },
  {
    name: "the time in one chunk of a list",
    law: "compute",
    make: () => {
      const draw = drawn();
      return { ...sums, plan: () => [1, 2, 3, 4], compute: ({ input }) => (input === 3 ? draw() : input) };
    },
    example: "chunk 2 (3): computed again, it gives other bytes",
    likely: /1 of 4 chunks differ/,
  },
  {
    name: "a chunk that uses its index, though its input is said to be all that counts",
    law: "compute",
    make: () => ({
      ...sums,
      byInput: true,
      plan: () => [1, 2, 3],
      compute: ({ input, index }) => input + index,
    }),
    example: /^chunk \d \(\d\): at another index it gives other bytes$/,
    likely: /^byInput says .*; 3 of 3 chunks differ$/,
  },
  {
    name: "a chunk that throws",
    law: "compute",
    make: () => ({
      compute({ index }) {
        if (index === 7) throw new RangeError("out of range");
        return { sum: 0, chunks: 1 };
      },
    }),
    example: /^chunk 7: out of range \(fixtures\.ts:\d+\)$/,
    throws: true,
  },
  {
    name: "every chunk that throws",
    law: "compute",
    make: () => ({
      compute() {
        throw new RangeError("out of range");
      },
    }),
    example: /^chunk 0: out of range/,
    likely: /^your code threw, also for chunks 1, 2, 3, 4, 5 and 14 more$/,
  },
  {
    name: "the last chunk that throws, far from the first ones",
    law: "compute",
    params: { chunks: 5_000 },
    make: () => ({
      compute({ index, count }) {
        if (index === count - 1) throw new RangeError("the last one is short");
        return { sum: 0, chunks: 1 };
      },
    }),
    example: /^chunk 4999: the last one is short/,
    throws: true,
  },
  {
    name: "what the chunk before left behind",
    law: "compute",
    make: () => {
      let before = 0;
      return {
        ...sums,
        compute({ index }) {
          const sum = index + before;
          before = index;
          return sum;
        },
      };
    },
    example: "chunk 0: it depends on which chunk was computed before",
    sides: ["0", "1"],
    likely: /keeps state/,
  },
  {
    name: "a partial over the limit",
    law: "size",
    make: () => ({ ...megabytes, compute: () => 33 }),
    example: "the partial of chunk 0 has 34603008 bytes; the limit is 33554432 (partialBytesMax)",
  },
  {
    name: "partials that pass the limit when merged",
    law: "size",
    params: { chunks: 5 },
    make: () => ({ ...megabytes, compute: () => 7 }),
    example: /^the merged partial of chunks 0–4 has \d+ bytes; the limit is 33554432 /,
  },
  {
    name: "a Set in a JSON partial",
    law: "codec",
    make: () => ({
      compute: ({ index }) => ({ seen: new Set([index]) }),
      merge: (a, b) => ({ seen: new Set([...a.seen, ...b.seen]) }),
      zero: () => ({ seen: new Set() }),
    }),
    example: "the partial of chunk 0 cannot be JSON: seen is a Set, which would become {}",
    likely: /no attempt succeeds/,
  },
  {
    name: "a codec that rounds",
    law: "codec",
    make: () => ({
      ...sums,
      compute: ({ index }) => index + 0.3,
      codec: {
        contentType: "text/plain",
        encode: (part: number) => Buffer.from(String(part)),
        decode: (bytes: Uint8Array) => Math.round(Number(Buffer.from(bytes).toString())),
      },
    }),
    example: "the partial of chunk 0 encodes to other bytes after it was decoded",
    sides: ["0.3", "0"],
  },
  {
    name: "a codec that gives text",
    law: "codec",
    make: () => ({ codec: { contentType: "text/plain", encode: () => "text" as never, decode: () => 0 } }),
    example: /encode must give a Uint8Array/,
  },
  {
    name: "a field that only a fresh partial has",
    law: "merge",
    make: () => ({
      compute: ({ index }) => Object.defineProperty({ sum: index }, "exact", { value: index + 1 }),
      merge: (a, b) => ({ sum: (a.exact ?? a.sum) + (b.exact ?? b.sum) }),
      zero: () => ({ sum: 0 }),
    }),
    example: "chunks 0–1: decoded partials merge unlike fresh ones",
    sides: ['{"sum":3}', '{"sum":1}'],
  },
  {
    name: "one object that all chunks share and merge changes",
    law: "merge",
    make: () => {
      const shared = { sum: 1 };
      return {
        compute: () => shared,
        merge(a, b) {
          a.sum += b.sum;
          return a;
        },
        zero: () => ({ sum: 0 }),
        finish: ({ sum }) => ({ sum }),
      };
    },
    example: "chunks 2–3: decoded partials merge unlike fresh ones",
  },
  {
    name: "random numbers in merge",
    law: "merge",
    make: () => ({ ...sums, merge: (a, b) => a + b + Math.random() }),
    example: "chunks 0–1: merged again, they give other bytes",
    likely: /merge uses random numbers/,
  },
  {
    name: "something that grows unseen while partials are folded fresh",
    law: "merge",
    make: () => {
      const depth = new WeakMap<object, number>();
      return {
        compute: ({ index }) => ({ sum: index }),
        merge(a, b) {
          const merged = { sum: a.sum + b.sum + ((depth.get(a) ?? 0) > 2 ? 1 : 0) };
          depth.set(merged, (depth.get(a) ?? 0) + 1);
          return merged;
        },
        zero: () => ({ sum: 0 }),
        finish: ({ sum }) => ({ sum }),
      };
    },
    example: "chunks 0–15: decoded partials merge unlike fresh ones",
  },
  {
    name: "the time in the result",
    law: "finish",
    make: () => {
      const draw = drawn();
      return { finish: ({ sum }) => ({ sum, at: draw() }) };
    },
    example: "finish gives another result when it is called again",
  },
  {
    name: "a count of calls in stop",
    law: "finish",
    make: () => {
      const calls: number[] = [];
      return { stop: (_part, { chunks }) => calls.push(chunks) > 5 };
    },
    example: "stop says false and then true of the same first 20 chunks",
  },
  {
    name: "a stop that gives a number",
    law: "finish",
    make: () => ({ stop: () => 1 as unknown as boolean }),
    example: /stop gave number; true or false is needed/,
  },
  {
    name: "a result that is no JSON",
    law: "finish",
    make: () => ({ finish: () => Number.NaN }),
    example: /the result cannot be JSON: it is NaN/,
  },
];

/** Each keeps every law, although its merge gives another partial if other neighbors are joined first. */
export const orderedFixtures: Readonly<Record<string, Partial<AnyCalculation>>> = {
  "a sum of doubles": { ...sums, compute: ({ index }) => (index + 1) / 10 },
  "a mean of means": {
    compute: ({ index }) => index,
    merge: (a, b) => (a + b) / 2,
    zero: () => null,
    finish: (mean) => mean,
  },
  "a sum beyond 2^53": { ...sums, compute: ({ index }) => 2 ** 53 + 2 * index + 2 },
  "a least number whose zero is Infinity": {
    compute: ({ index }) => 100 - index,
    merge: (a, b) => Math.min(a, b) - 1,
    zero: () => Number.POSITIVE_INFINITY,
    finish: (least) => (Number.isFinite(least) ? least : null),
  },
  "groups in the order in which they were first met": {
    compute: ({ index }) => ({ [`k${index % 3}`]: 1 }),
    // The longer side first.
    merge(a, b) {
      const [into, from] = Object.keys(a).length >= Object.keys(b).length ? [{ ...a }, b] : [{ ...b }, a];
      for (const [key, n] of Object.entries(from)) into[key] = (into[key] ?? 0) + Number(n);
      return into;
    },
    zero: () => ({}),
    finish: (groups) => groups,
  },
};
