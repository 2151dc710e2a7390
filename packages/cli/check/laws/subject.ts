import { gathering, keepingSaved } from "../../../../src/engine/calculation/concat.ts";
import type { AnyCalculation, ResultBytes } from "../../../../src/engine/calculation/contract.ts";
import { decodePart, encodePart, guarded } from "../../../../src/engine/calculation/encodePart.ts";
import { type Files, noFiles } from "../../../../src/engine/calculation/files.ts";
import type { CalculationError } from "../../../../src/engine/model/errors.ts";
import type { Range } from "../../../../src/engine/model/packs.ts";
import { windowOf } from "./findings.ts";

/** The functions of user code. */
export const calls = [
  "plan",
  "setup",
  "compute",
  "merge",
  "zero",
  "stop",
  "finish",
  "encode",
  "decode",
] as const;
export type CallName = (typeof calls)[number];

export interface LawOptions {
  /** The laws are tried on at most this many chunks, from the first on. Default 200. */
  readonly chunks?: number;
  readonly files?: Files;
  /** Without a clock there is no advice about time, and no limit of it. `idleMs`: for how long this thread had nothing to do so far. */
  readonly clock?: { monotonicMs(): number; sleep(ms: number): Promise<void>; idleMs?(): number };
  /** Before each call of user code; `index` is that of a chunk. */
  readonly onCall?: (call: CallName, index: number) => void;
}

/** An input as it is stored, and as the plan gave it. */
export interface Input {
  readonly input: unknown;
  readonly given: unknown;
}

/** A fold of neighboring chunks. */
export interface Node extends Range {
  readonly bytes: Uint8Array;
}

/** A calculation under check, and what is known of it so far. */
export interface Subject {
  /** From the law of `compute` on with what its `setup` gave. */
  calculation: AnyCalculation;
  /** As a worker gets them: encoded as JSON and decoded. */
  readonly params: unknown;
  readonly files: Files;
  /** Of a result of saved files, all its bytes. */
  readonly whole: (made: ResultBytes) => ResultBytes;
  /** Of these files, so far. */
  readonly keptBytes: () => number;
  readonly clock: LawOptions["clock"];
  readonly chunksWanted: number;
  /** Chunks of the whole run, and the inputs of some of them where the plan lists them. */
  count: number;
  inputs: ReadonlyMap<number, Input> | undefined;
  /** So many of the first chunks were computed, those that threw included. */
  tried: number;
  /** The encoded partials of these chunks, and their folds by the tree of spans: the last one is of all. */
  partials: ReadonlyMap<number, Uint8Array>;
  nodes: readonly Node[];
  /** The errors of chunks that threw, by index: gaps of all that follows. */
  readonly thrown: Map<number, CalculationError>;
  /** Of these chunks. */
  result: ResultBytes | undefined;
  /** Median time of one chunk, once the code is warm. */
  chunkMs: number | undefined;
  /** What part of that time the chunks waited, from 0 to 1. */
  waits: number | undefined;
}

export function subjectOf(calculation: AnyCalculation, params: unknown, options: LawOptions): Subject {
  const onCall = options.onCall ?? (() => {});
  const { codec } = calculation;
  return {
    calculation: Object.defineProperty(watched(calculation, onCall), "codec", {
      value: codec && watched(codec, onCall),
    }),
    params,
    ...keepingSaved(calculation, options.files ?? noFiles),
    clock: options.clock,
    chunksWanted: options.chunks ?? 200,
    count: 0,
    inputs: undefined,
    tried: 0,
    partials: new Map(),
    nodes: [],
    thrown: new Map(),
    result: undefined,
    chunkMs: undefined,
    waits: undefined,
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

/** A chunk's partial as `compute` gives it, or would give it if so many chunks were listed before it. */
export async function computeOf(subject: Subject, index: number, before = 0): Promise<unknown> {
  const { calculation, params, count, files, inputs } = subject;
  const place = { index: index + before, count: count + before };
  const chunk = { ...place, input: inputs?.get(index)?.input, params, files };
  const gather = gathering(calculation, files);
  const made: unknown = await guarded(chunkName(subject, index), () => calculation.compute(chunk));
  const part = gather === undefined ? made : await gather.add(made);
  await gather?.end();
  return part;
}

/** A chunk with its input, where the plan lists inputs. */
export const chunkName = ({ inputs }: Subject, index: number): string =>
  `chunk ${index}${inputs === undefined ? "" : ` (${windowOf(JSON.stringify(inputs.get(index)?.input) ?? "")})`}`;

/** Encodes a partial. The bytes are a copy, which later changes of the partial do not reach. */
export const bytesOf = async ({ calculation }: Subject, part: unknown, what: string): Promise<Uint8Array> =>
  (await encodePart(calculation, part, what)).slice();

/** Decodes a partial from a copy of the bytes, because a decoder may keep what it is given. */
export const decoded = (subject: Subject, bytes: Uint8Array): Promise<unknown> =>
  guarded("decode", () => decodePart(subject.calculation, bytes.slice()));

export const same = (a: Uint8Array, b: Uint8Array): boolean => Buffer.compare(a, b) === 0;

/** Waits between two calls that should give the same, until the time of day has changed. */
export const pause = async ({ clock }: Subject): Promise<void> => await clock?.sleep(15);
