import type { AnyCalculation } from "../contract.ts";
import { decodePart, encodePart, guarded } from "../encodePart.ts";
import { type Files, noFiles } from "../files.ts";
import { type Draw, drawFrom } from "./draw.ts";

/** The functions of user code. */
export const calls = ["plan", "compute", "merge", "zero", "finish", "encode", "decode"] as const;
export type CallName = (typeof calls)[number];

export interface LawOptions {
  /** The laws are tried on at most this many chunks, from the first on. Default 200. */
  readonly chunks?: number;
  /** Random ways to fold the chunks. Default 100. */
  readonly runs?: number;
  /** Default 1: the same answer each time. */
  readonly seed?: number;
  readonly files?: Files;
  /** Without a clock there is no advice about time, and no limit of it. */
  readonly clock?: { monotonicMs(): number; sleep(ms: number): Promise<void> };
  /** Bytes of memory in use. */
  readonly heapBytes?: () => number;
  /** Before each call of user code; `index` is that of a chunk. */
  readonly onCall?: (call: CallName, index: number) => void;
  /** The function of `Math` that draws random numbers, if `compute` has called it; else the text of `compute` is read. */
  readonly randomCalled?: () => string | undefined;
}

/** A calculation under check, and what is known of it so far. */
export interface Subject {
  readonly calculation: AnyCalculation;
  /** As a worker gets them: encoded as JSON and decoded. */
  readonly params: unknown;
  readonly files: Files;
  readonly options: LawOptions;
  readonly draw: Draw;
  readonly chunksWanted: number;
  readonly runs: number;
  /** The text of `compute`, which may name the cause of a breach. */
  readonly source: string;
  /** Chunks of the whole run, and the inputs of some of them where the plan lists them. */
  count: number;
  inputs: Map<number, unknown> | undefined;
  /** The encoded partials of the first chunks. */
  partials: readonly Uint8Array[];
  /** Median time of one chunk, once the code is warm. */
  chunkMs: number | undefined;
}

export function subjectOf(calculation: AnyCalculation, params: unknown, options: LawOptions): Subject {
  const onCall = options.onCall ?? (() => {});
  const { codec } = calculation;
  return {
    calculation: Object.defineProperty(watched(calculation, onCall), "codec", {
      value: codec && watched(codec, onCall),
    }),
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

/** The same object, except that `onCall` is told of each call of user code before it begins. */
function watched<Code extends object>(code: Code, onCall: (call: CallName, index: number) => void): Code {
  const own = Object.create(code) as Record<string, unknown>;
  for (const call of calls) {
    const inner: unknown = Reflect.get(code, call);
    if (typeof inner !== "function") continue;
    const value = (...given: readonly unknown[]): unknown => {
      onCall(call, call === "compute" ? (given[0] as { index: number }).index : -1);
      return inner.apply(code, given);
    };
    Object.defineProperty(own, call, { value });
  }
  return own as Code;
}

/** A chunk's partial as `compute` gives it. */
export function computeOf(subject: Subject, index: number): Promise<unknown> {
  const { calculation, params, count, files, inputs } = subject;
  const chunk = { index, count, input: inputs?.get(index), params, files };
  return guarded(`chunk ${index}`, () => calculation.compute(chunk));
}

/** Encodes a partial. The bytes are a copy, which later changes of the partial do not reach. */
export async function bytesOf({ calculation }: Subject, part: unknown, what?: string): Promise<Uint8Array> {
  return (await encodePart(calculation, part, what)).slice();
}

export const computedBytes = async (subject: Subject, index: number): Promise<Uint8Array> =>
  bytesOf(subject, await computeOf(subject, index), `the partial of chunk ${index}`);

/** Decodes a partial from a copy of the bytes, because a decoder may keep what it is given. */
export const decoded = (subject: Subject, bytes: Uint8Array): Promise<unknown> =>
  guarded("decode", () => decodePart(subject.calculation, bytes.slice()));

export const mergeOf = (subject: Subject, a: unknown, b: unknown): Promise<unknown> =>
  guarded("merge", () => subject.calculation.merge(a, b, subject.params));

export const same = (a: Uint8Array, b: Uint8Array): boolean => Buffer.compare(a, b) === 0;

/** Random runs of one law stop after this time, if there is a clock. */
export const randomRunsMs = 2_000;

/** Returns a function that says whether the time is up; never, without a clock. */
export function stopwatch({ options: { clock } }: Subject, ms: number): () => boolean {
  if (clock === undefined) return () => false;
  const endMs = clock.monotonicMs() + ms;
  return () => clock.monotonicMs() > endMs;
}
