import type { ZodType } from "zod";
import type { SavedFile } from "../model/fileList.ts";
import type { Files } from "./files.ts";

/**
 * A calculation: how one big piece of work is cut into chunks and how their partials become one result.
 *
 * Not promised: that `compute` runs once per chunk. A chunk may be computed several times, on several machines
 * at once; exactly one of its partials is folded. So `compute` must not rely on side effects.
 *
 * `plan`, `compute`, `merge` and `finish` run in worker threads, never on the event loop that renews the lease. They find the
 * variables that `LEASEFOLD_ENV` names and none of storage, but a thread is no sandbox: a calculation is trusted as the app itself is.
 */
export interface Calculation<Params, Input, Part, Made = Result, Shared = void> {
  /** Lower-case letters, digits and dashes; what `leasefold submit <name>` takes. */
  readonly name: string;
  /**
   * Identifies this code: 1 to 40 letters, digits, `.`, `_`, `+` and `-`. Partials of two versions are never folded
   * together, so change it if a result may change. Without it, every change of the file and its imports counts.
   */
  readonly version?: string;
  /**
   * True where `compute` uses nothing of its chunk but `input`, `params`, and files that the input names with their ETags. Its
   * partial is then right at any index, so `submit --reuse` finds it where files were added or removed before it.
   */
  readonly byInput?: boolean;
  /**
   * Files that its code runs or reads without an import, such as a script: absolute paths by the names that they have in
   * any folder. Without a `version` they count as its code. Not promised: that it reads them as they were when it was loaded.
   */
  readonly codeFiles?: Readonly<Record<string, string>>;
  /**
   * Chunks of a pack that one thread computes at the same time, 1 by default and at most 256: for a `compute` that mostly waits, such
   * as for HTTP or a database. The result is the same, as partials are merged in the order of chunks. `--cap` then bounds chunks.
   */
  readonly concurrency?: number;
  /** One line for `leasefold calculations`. */
  readonly summary: string;
  /** Schema of the parameters, with defaults and descriptions: its help text is made from them. */
  readonly params: ZodType<Params>;
  /**
   * The chunks of the run: a count of at most 10^7, or a list or stream of that many inputs (each JSON, at most
   * 64 KB). It should be deterministic; if it is not, the answer of only one attempt is used.
   */
  plan(params: Params, context: PlanContext): Plan<Input> | Promise<Plan<Input>>;
  /**
   * What all chunks share, such as a table: called once per run in each worker thread, before its first chunk, under the time
   * limit of that pack. It must give the same for the same parameters and files. `compute`, `merge` and `finish` get it and
   * must not change it.
   */
  setup?(context: SetupContext<Params>): Shared | Promise<Shared>;
  /**
   * Computes one chunk. If it throws, it is computed again. After the last attempt the chunk is a gap of the result where
   * the run tolerates that, and otherwise the run fails. The same holds for a chunk that never ends, or ends its thread or process.
   */
  compute(chunk: Chunk<Params, Input, Shared>): Part | Promise<Part>;
  /**
   * Folds two neighbors, `a` before `b`. It must be pure, but may change `a` and return it. Which partials are merged
   * depends on chunk indices alone, so it need not be associative. An encoded partial has at most 32 MB, so the result
   * must not grow with every partial folded into it.
   */
  merge(a: Part, b: Part, params: Params, shared: Shared): Part | Promise<Part>;
  /** The partial of a run in which no chunk is folded; it is never merged. */
  zero(params: Params): NoInfer<Part>;
  /**
   * Whether the run may end after its first `chunks`, judged by their fold alone: true where that is answer enough. It is asked
   * about prefixes in order, about 1/64, 1/32, 3/64, 1/16, 3/32 … of all chunks, whose lengths depend on the number of chunks
   * alone. The first that it accepts is the whole of the result, so it must be pure and must not change the partial.
   */
  stop?(part: Part, context: StopContext<Params, Shared>): boolean | Promise<boolean>;
  /** Whether runs with these parameters are asked at all; without it all are. Being asked costs a fold for each prefix. */
  stops?(params: Params): boolean;
  /** Makes the result from the folded partial; without it the partial is the result. */
  finish?(part: Part, context: FinishContext<Params, Shared>): Made | Promise<Made>;
  /** Encodes partials, which it must give back as they were; without it they are JSON. */
  readonly codec?: Codec<Part>;
  /** Set by `defineConcatCalculation`: `compute` gives bytes or text, which go into the result as they are. */
  readonly output?: { readonly contentType: string; readonly extension: string };
  /** Ends what it keeps between calls, such as a process, in a thread that waited for long. A thread that is ended at once calls nothing. */
  end?(): Promise<void>;
}

export interface PlanContext {
  /** The blobs that it may read. */
  readonly files: Files;
  /** The time of this attempt; absent where nothing limits it. */
  readonly time?: AttemptTime;
}

export interface SetupContext<Params> {
  readonly params: Params;
  /** The blobs that it may read. One that is replaced during a run gives threads different values. */
  readonly files: Files;
}

export interface AttemptTime {
  readonly limitMs: number;
  /** Time since the attempt began, in ms. */
  spentMs(): number;
  /** Fires shortly before the limit, in time to fail with an error that says more than the limit. */
  readonly ending: AbortSignal;
}

export type Plan<Input> = number | Iterable<Input> | AsyncIterable<Input>;

interface ChunkAlone<Params, Input> {
  /** 0-based index of this chunk in the run. */
  readonly index: number;
  /** How many chunks the run has. */
  readonly count: number;
  /** The input that `plan` listed at this index; undefined if it gave only a count. */
  readonly input: Input;
  readonly params: Params;
  /** The blobs that it may read. */
  readonly files: Files;
}

interface FinishAlone<Params> {
  readonly params: Params;
  /** Chunks folded, of `count`; fewer if failures were tolerated. */
  readonly folded: number;
  /** Where `stop` ended the run: the chunks of that prefix. */
  readonly count: number;
}

interface StopAlone<Params> {
  readonly params: Params;
  /** The length of the prefix. */
  readonly chunks: number;
  /** Chunks folded of it; fewer if failures were tolerated. */
  readonly folded: number;
}

/** What `setup` gave, in a calculation that has one. */
// biome-ignore lint/suspicious/noConfusingVoidType: a caller may leave out a last argument that is void.
type WithShared<Shared> = [Shared] extends [void]
  ? { readonly shared?: undefined }
  : { readonly shared: Shared };
export type Chunk<Params, Input, Shared = void> = ChunkAlone<Params, Input> & WithShared<Shared>;
export type FinishContext<Params, Shared = void> = FinishAlone<Params> & WithShared<Shared>;
export type StopContext<Params, Shared = void> = StopAlone<Params> & WithShared<Shared>;

/** A JSON value, or bytes with their content type; at most 512 MiB either way. */
export type Result = JsonValue | ResultBytes;
export type JsonValue =
  | string
  | number
  | boolean
  | null
  | readonly JsonValue[]
  | { readonly [key: string]: JsonValue };

export interface ResultBytes {
  readonly body: Uint8Array;
  /** Such as `text/csv; charset=utf-8`. Over HTTP only JSON, CSV, PNG and plain text open in a browser; it saves the rest. */
  readonly contentType: string;
  /** File name extension without the dot, such as `csv`: 1 to 16 letters and digits. */
  readonly extension: string;
  /** What whoever reads the result should know, such as how many records were left out: at most 10 lines of 500 characters. */
  readonly notes?: readonly string[];
  /** Set by `defineConcatCalculation`: files of the run whose bytes follow `body`, in order. */
  readonly joins?: readonly SavedFile[];
}

export interface Codec<Part> {
  readonly contentType: string;
  encode(part: Part): Uint8Array;
  decode(bytes: Uint8Array): Part;
}

/**
 * `T` where JSON keeps it, as a type: so an interface fits, which has no index signature and is no `JsonValue`. Bytes of a result
 * pass as they are.
 */
type KeptByJson<T> = T extends Result | undefined
  ? T
  : T extends
        | bigint
        | symbol
        | ((...given: never[]) => unknown)
        | Date
        | ReadonlyMap<unknown, unknown>
        | ReadonlySet<unknown>
    ? never
    : { readonly [K in keyof T]: KeptByJson<T[K]> };

/** What the compiler names where `finish` gives something else. */
interface NotKept {
  readonly finish: () => "JSON would lose part of this result";
}

/** Gives a calculation its types and freezes it; returns what it was given. */
export function defineCalculation<Params, Input, Part, Made = Result, Shared = void>(
  calculation: Calculation<Params, Input, Part, Made, Shared> &
    ([Made] extends [KeptByJson<Made>] ? unknown : NotKept),
): Calculation<Params, Input, Part, Made, Shared> {
  return Object.freeze<Calculation<Params, Input, Part, Made, Shared>>(calculation);
}

/** A calculation whose types only its own code knows, as the registry and the engine hold it. */
// biome-ignore lint/suspicious/noExplicitAny: the engine carries params, inputs and parts without looking inside.
export type AnyCalculation = Calculation<any, any, any, any, any>;

/** One parameter of a calculation, for help. */
export interface ParamRow {
  readonly name: string;
  readonly type: string;
  /** A JSON value; absent where there is none, which need not mean that the parameter must be given. */
  readonly default?: unknown;
  readonly description: string;
  /** The values of a list that are not all text: their type does not follow from how they are typed. */
  readonly values?: readonly unknown[] | undefined;
}

/** The calculations that a process can run. */
export interface Calculations {
  list(): readonly AnyCalculation[];
  /** Throws `InputError` naming the known ones. */
  get(name: string): AnyCalculation;
  /** The identity of its code, see `identity.ts`: `primes@1`, `mine@sha256:3f2a8b1c9d0e`. Throws as `get`. */
  versionOf(name: string): string;
  /** Whether a user's file, or one that it imports, has changed since this process loaded it. Throws as `get`. */
  changedSince?(name: string): boolean;
  parseParams(calculation: AnyCalculation, raw: unknown): unknown;
  describeParams(calculation: AnyCalculation): readonly ParamRow[];
}
