import type { AnyCalculation } from "../contract.ts";
import { decodePart, encodePart, guarded } from "../encodePart.ts";
import { type Files, noFiles } from "../files.ts";
import { type Draw, drawFrom } from "./draw.ts";

/** What user code is called for. */
export const calls = ["plan", "compute", "merge", "zero", "finish", "encode", "decode"] as const;
export type CallName = (typeof calls)[number];

export interface LawOptions {
  /** Neighbouring chunks, from the first on, that the laws are tried on at most. Default 200. */
  readonly chunks?: number;
  /** Random ways to fold them. Default 100. */
  readonly runs?: number;
  /** Default 1: the same answer each time. */
  readonly seed?: number;
  readonly files?: Files;
  /** Without one nothing is said about time, and chunks that take long are not spared. */
  readonly clock?: { monotonicMs(): number; sleep(ms: number): Promise<void> };
  /** Bytes of memory now taken. */
  readonly heapBytes?: () => number;
  /** Before each call of user code; `index` is that of a chunk. */
  readonly onCall?: (call: CallName, index: number) => void;
}

/** A calculation on trial, and what was learned of it so far. */
export interface Subject {
  readonly calculation: AnyCalculation;
  /** As a worker gets them: JSON was made of them and they were made of it again. */
  readonly params: unknown;
  readonly files: Files;
  readonly options: LawOptions;
  readonly draw: Draw;
  readonly chunksWanted: number;
  readonly runs: number;
  /** The text of `compute`, which may name a culprit. */
  readonly source: string;
  /** Chunks of the whole run, and the inputs of some of them where the plan lists them. */
  count: number;
  inputs: Map<number, unknown> | undefined;
  /** The encoded partials of the first chunks. */
  partials: readonly Uint8Array[];
  /** Median time of one chunk once it is warm. */
  chunkMs: number | undefined;
}

export function subjectOf(calculation: AnyCalculation, params: unknown, options: LawOptions): Subject {
  return {
    calculation: watched(calculation, options.onCall ?? (() => {})),
    params,
    files: options.files ?? noFiles,
    options,
    draw: drawFrom(options.seed ?? 1),
    chunksWanted: options.chunks ?? 200,
    runs: options.runs ?? 100,
    source: String(calculation.compute),
    ...{ count: 0, inputs: undefined, partials: [], chunkMs: undefined },
  };
}

/** The same calculation; whoever watches learns of each call before it begins. */
function watched(inner: AnyCalculation, onCall: (call: CallName, index: number) => void): AnyCalculation {
  const { name, summary, params, finish, codec } = inner;
  const on =
    <Given extends unknown[], Gives>(call: CallName, run: (...given: Given) => Gives) =>
    (...given: Given): Gives => {
      onCall(call, -1);
      return run(...given);
    };
  return {
    ...{ name, summary, params },
    plan: on("plan", (given, context) => inner.plan(given, context)),
    compute(chunk) {
      onCall("compute", chunk.index);
      return inner.compute(chunk);
    },
    merge: on("merge", (a, b, given) => inner.merge(a, b, given)),
    zero: on("zero", (given) => inner.zero(given)),
    ...(finish === undefined ? {} : { finish: on("finish", finish.bind(inner)) }),
    ...(codec === undefined
      ? {}
      : {
          codec: {
            contentType: codec.contentType,
            encode: on("encode", (part) => codec.encode(part)),
            decode: on("decode", (bytes) => codec.decode(bytes)),
          },
        }),
  };
}

/** A chunk's partial as `compute` gives it. */
export function computeOf(subject: Subject, index: number): Promise<unknown> {
  const { calculation, params, count, files, inputs } = subject;
  const chunk = { index, count, input: inputs?.get(index), params, files };
  return guarded(`chunk ${index}`, () => calculation.compute(chunk));
}

/** The same as bytes, as they are now: nothing that is done to the partial later changes them. */
export async function bytesOf({ calculation }: Subject, part: unknown, what?: string): Promise<Uint8Array> {
  return (await encodePart(calculation, part, what)).slice();
}

export const computedBytes = async (subject: Subject, index: number): Promise<Uint8Array> =>
  bytesOf(subject, await computeOf(subject, index), `the partial of chunk ${index}`);

/** Each time a partial of its own: a decoder may keep the bytes it was given. */
export const decoded = (subject: Subject, bytes: Uint8Array): Promise<unknown> =>
  guarded("decode", () => decodePart(subject.calculation, bytes.slice()));

export const mergeOf = (subject: Subject, a: unknown, b: unknown): Promise<unknown> =>
  guarded("merge", () => subject.calculation.merge(a, b, subject.params));

export const zeroOf = (subject: Subject): Promise<unknown> =>
  guarded("zero", () => subject.calculation.zero(subject.params));

export const same = (a: Uint8Array, b: Uint8Array): boolean => Buffer.compare(a, b) === 0;

/** Random runs of one law stop after so long, where there is a clock. */
export const randomRunsMs = 2_000;

/** Says when the time is up; never, without a clock. */
export function stopwatch({ options: { clock } }: Subject, ms: number): () => boolean {
  if (clock === undefined) return () => false;
  const endMs = clock.monotonicMs() + ms;
  return () => clock.monotonicMs() > endMs;
}
