import { hash } from "node:crypto";
import * as z from "zod";
import type { Calculations } from "../../src/engine/calculation/contract.ts";
import { type AnyCalculation, defineCalculation } from "../../src/engine/calculation/contract.ts";
import { guarded } from "../../src/engine/calculation/encodePart.ts";
import { noFiles } from "../../src/engine/calculation/files.ts";
import { type CoveringPart, encodeSpans, foldParts } from "../../src/engine/calculation/foldParts.ts";
import { describeParams, parseParams } from "../../src/engine/calculation/params.ts";
import { runCompute } from "../../src/engine/calculation/runJob.ts";
import { ThreadEndedError } from "../../src/engine/model/chunkErrors.ts";
import { CalculationError } from "../../src/engine/model/errors.ts";
import { indexesOf, powerFrom } from "../../src/engine/model/packs.ts";
import type { Clock, Random } from "../../src/engine/storage/ports.ts";
import { threadSlots } from "../../src/engine/worker/threads/threadSlots.ts";
import type { ComputeOutput, TaskOptions, UserCode } from "../../src/engine/worker/threads/userCode.ts";
import { limited, type Told } from "./limited.ts";
import { shapeOf } from "./plainTree.ts";

interface Part {
  readonly ranges: Ranges;
  /** Tells by which tree it was merged: the chunk itself, or `shapeOf` the two sides. */
  readonly shape: string;
  /** The codes that have made it. */
  readonly codes: readonly string[];
  /** The names of the files that its chunks have saved. */
  readonly files?: readonly string[] | undefined;
}

/** From, to, and which plan listed the chunks, where the plan is a list. */
type Ranges = [from: number, to: number, plan?: string][];

export interface RangesOptions {
  /** How long one chunk takes. Default 100 ms. */
  readonly chunkMs?: (chunk: number, random: Random) => number;
  /** Called when a thread takes the chunk; throws to fail it. */
  readonly onChunk?: (chunk: number, random: Random) => void | Promise<void>;
  /** Called when a thread takes the plan; throws to fail it. */
  readonly onPlan?: () => void;
  /** Called where the run may stop: what is said in place of the rule, if anything; throws to fail the question. */
  readonly onAsk?: (chunks: number, byRule: boolean) => boolean;
  /** Called with what a fold gave; throws to fail it. */
  readonly onFold?: (ranges: Ranges) => void;
  /** What becomes of a task that a thread has taken, by its kind: it never ends, or ends its process. */
  readonly doom?: (task: DoomedTask) => "hangs" | "kills" | undefined;
  /** What becomes of the thread that comes to a chunk: it never ends, exits, or ends its process. */
  readonly doomChunk?: (chunk: number) => "hangs" | "exits" | "kills" | undefined;
  /** Told of each task that a thread begins; what it gives is called when the task ends, which a dead process never does. */
  readonly onTask?: (task: DoomedTask) => (() => void) | undefined;
  /** Ends the process of the thread. */
  readonly kill?: () => void;
  /** Bytes added to each partial, to make it too large for metadata. */
  readonly padding?: number;
  /** Identity of this code: every partial says in a second line which codes made it, and every result in a last one. */
  readonly code?: string | undefined;
  /** Every result says in a line which which attempt made it, as a result with a timestamp would. */
  readonly signed?: boolean;
  /** What is in the file that is the input of a chunk, where the plan is a list; every plan lists the same then. */
  readonly fileOf?: (chunk: number) => string | undefined;
  /** Every result tells in a second line by which tree it was merged: `treeShape` of its chunks. */
  readonly shaped?: boolean;
  /** Each chunk saves a file; partials and results say which, in a line of their own. */
  readonly saves?: () => boolean;
  /** The result is what these files hold, one behind the other, and no fold. */
  readonly joins?: () => boolean;
}

export interface DoomedTask {
  readonly kind: "plan" | "compute" | "fold" | "ask" | "finish";
  /** First chunk of a pack. */
  readonly from?: number;
  readonly to?: number;
  /** Chunks folded. */
  readonly chunks?: number;
}

/** An input of a plan that is a list. */
export interface RangesInput {
  readonly at: number;
  readonly plan: string;
  readonly file?: string;
}

/** A chunk and what was in its file, in the shape of a partial. */
export const leafOf = (chunk: number, input?: RangesInput): string =>
  input?.file === undefined ? `${chunk}` : `${chunk}:${input.file}`;

interface RangesParams {
  readonly chunks: number;
  readonly list: boolean;
  /** The run stops after a prefix of which so many chunks are folded. */
  readonly stopAt?: number;
}

/**
 * User code for simulations, in virtual time on a number of threads. A partial is the list of chunk ranges it
 * holds; merging joins neighbours and throws when one comes twice or too late. So the result of a run of N chunks
 * is exactly `[[0,N]]`, or says which chunks are missing. Its merge is neither associative nor commutative, which the
 * shape of a partial tells. A plan that is a list gives other inputs each time, and a fold of chunks from two plans
 * throws as well.
 */
export function rangesCode(
  clock: Clock,
  threads: number,
  random: Random,
  options: RangesOptions = {},
): UserCode {
  const { hold } = threadSlots(threads, clock);

  /** Runs on a thread under the limits that the real pool keeps. */
  async function onThread<T>(
    task: TaskOptions,
    doomed: DoomedTask,
    work: (ended: AbortSignal, told: Told) => Promise<T>,
  ): Promise<T> {
    const { limitMs, signal, onStart } = task;
    const leave = task.held === true ? undefined : await hold(task);
    let onEnd: (() => void) | undefined;
    try {
      await onStart?.();
      signal?.throwIfAborted();
      return await limited(clock, limitMs, signal, async (ended, told) => {
        onEnd = options.onTask?.(doomed);
        const doom = options.doom?.(doomed);
        if (doom === "kills") options.kill?.();
        if (doom !== undefined) await new Promise(() => {});
        return work(ended, told);
      });
    } finally {
      onEnd?.();
      leave?.();
    }
  }

  const stampOf = (codes: readonly string[]): string => {
    if (options.code === undefined) return "";
    return `\n${[...new Set([...codes, options.code])].sort().join(",")}`;
  };
  const calculation: AnyCalculation = {
    ...ranges,
    merge: (a: Part, b: Part): Part => ({
      ranges: joined([...a.ranges, ...b.ranges]),
      shape: shapeOf(a.shape, b.shape),
      codes: [...a.codes, ...b.codes],
      ...(a.files === undefined && b.files === undefined
        ? {}
        : { files: [...(a.files ?? []), ...(b.files ?? [])] }),
    }),
    codec: {
      contentType: "text/plain",
      encode: ({ ranges, shape, codes, files }: Part) =>
        Buffer.from(
          `${JSON.stringify(ranges)}${" ".repeat(options.padding ?? 0)}\n${shape}${linesOf(files)}${stampOf(codes)}`,
        ),
      decode(bytes): Part {
        const text = Buffer.from(bytes).toString();
        const [ranges = "", shape = ""] = text.split("\n");
        return { ranges: JSON.parse(ranges), shape, codes: codesIn(text), files: filesIn(text) };
      },
    },
  };
  /** Folds partials by the engine's tree; `to` as `TreeFold` has it. */
  const fold = async (from: number, to: number, parts: readonly CoveringPart[]) => {
    const spans = await (await foldParts(calculation, {}, from, parts)).end(to);
    const held = spans.flatMap((span) => ("part" in span ? [span.part as Part] : []));
    options.onFold?.(joined(held.flatMap((part) => part.ranges)));
    return { spans, held };
  };

  return {
    hold,
    plan: ({ params }, sink, task) =>
      onThread(task, { kind: "plan" }, async () => {
        await guarded("plan", () => options.onPlan?.());
        const { chunks, list, stopAt } = params as RangesParams;
        const stops = stopAt === undefined ? {} : ({ stops: true } as const);
        if (!list) return { chunks, list, ...stops };
        const plan = random.uuid().slice(0, 8);
        const inputOf = (at: number): RangesInput => {
          const file = options.fileOf?.(at);
          return file === undefined ? { at, plan } : { at, plan: "", file };
        };
        const half = Math.ceil(chunks / 2);
        for (const [from, to] of [
          [0, half],
          [half, chunks],
        ] as const) {
          await clock.sleep(200);
          if (to > from) await sink(Array.from({ length: to - from }, (_, place) => inputOf(from + place)));
        }
        return { chunks, list, ...stops };
      }),
    compute: ({ from, to, inputs, count, coverTo, gaps, retry, atOnceMax, kept }, task) =>
      onThread(task, { kind: "compute", from, to }, async (ended, told) => {
        let ms = 0;
        const exit = Promise.withResolvers<never>();
        let failed: ComputeOutput["failed"];
        /** Storage that is away is no failure of the chunk. */
        const refusals: unknown[] = [];
        for (const [at, input] of ((inputs ?? []) as readonly RangesInput[]).entries())
          if (input.at !== from + at)
            throw new CalculationError(
              "other-input",
              `chunk ${from + at} got the input of chunk ${input.at}`,
            );
        const computing: AnyCalculation = {
          ...calculation,
          async compute({ index: chunk, input: given }): Promise<Part> {
            const input = given as RangesInput | undefined;
            ms += options.chunkMs?.(chunk, random) ?? 100;
            const doom = options.doomChunk?.(chunk);
            if (doom !== undefined) told.doomedAt(chunk);
            if (doom === "kills") options.kill?.();
            if (doom === "exits")
              exit.reject(new ThreadEndedError(new CalculationError("thread-exited", "it left"), chunk));
            if (doom !== undefined) await new Promise(() => {});
            const called = options.onChunk?.(chunk, random);
            if (called !== undefined) await called;
            const range: Ranges = [input === undefined ? [chunk, chunk + 1] : [chunk, chunk + 1, input.plan]];
            const part: Part = { ranges: range, shape: leafOf(chunk, input), codes: [] };
            if (options.saves?.() !== true) return part;
            const body = Buffer.from(rowsOf(chunk));
            const { name } = fileOf(chunk);
            await task.onSave?.(name, body).catch((error: unknown) => {
              refusals.push(error);
              throw error;
            });
            return { ...part, files: [name] };
          },
        };
        const cut = { ...(inputs && { inputs }), ...(coverTo && { coverTo }) };
        const pack = { params: {}, from, to, count, gaps, retry, atOnceMax, kept, ...cut };
        const onFailed = (chunks: ComputeOutput["failed"]): void => {
          failed = chunks;
        };
        const begunMs = clock.monotonicMs();
        const time = {
          sleep: (pauseMs: number, signal: AbortSignal) => clock.sleep(pauseMs, signal),
          spentMs: () => clock.monotonicMs() - begunMs,
        };
        const hooks = { onFailed, onThrew: task.onThrew, onKept: task.onKept, time };
        const computed = runCompute(computing, pack, noFiles, hooks);
        const bytes = await Promise.race([computed, exit.promise]).catch((error: unknown) =>
          Promise.reject(refusals[0] ?? error),
        );
        if (refusals.length > 0) throw refusals[0];
        await clock.sleep(ms, ended);
        return { bytes, ms, ...(failed && { failed }) };
      }),
    fold: ({ parts, from, to }, task) =>
      onThread(task, { kind: "fold", chunks: chunksOf(parts) }, async () => {
        await clock.sleep(5);
        return { bytes: await encodeSpans(calculation, (await fold(from, to, parts)).spans), ms: 5 };
      }),
    ask: ({ parts, chunks, folded, params }, task) =>
      onThread(task, { kind: "ask", chunks }, async () => {
        await clock.sleep(5);
        const spans = await (await foldParts(calculation, {}, 0, parts)).end(powerFrom(chunks));
        const [{ ranges = [] } = {}] = spans.flatMap((span) => ("part" in span ? [span.part as Part] : []));
        const there = ranges.reduce((sum, [from, to]) => sum + to - from, 0);
        const beyond = (ranges.at(-1)?.[1] ?? 0) > chunks;
        if (there !== folded || beyond || spans.length > 1)
          throw new CalculationError("other-prefix", `${JSON.stringify(ranges)}: not ${folded} of ${chunks}`);
        const byRule = there >= ((params as RangesParams).stopAt ?? Number.POSITIVE_INFINITY);
        return options.onAsk?.(chunks, byRule) ?? byRule;
      }),
    finish: ({ parts, folded }, task) =>
      onThread(task, { kind: "finish", chunks: folded }, async () => {
        await clock.sleep(5);
        const { held } = await fold(0, powerFrom(parts.at(-1)?.to ?? 0), parts);
        const [{ ranges = [], shape = "", codes = [], files = undefined } = {}] = held;
        if (options.joins?.() === true) {
          const chunks = ranges.flatMap(([from, to]) => indexesOf({ from, to }));
          const known = new Map(chunks.map((chunk) => [fileOf(chunk).name, fileOf(chunk)]));
          const joins = (files ?? []).map((name) => known.get(name) ?? { name, bytes: 1 });
          return { body: new Uint8Array(), contentType: "text/plain", extension: "txt", joins };
        }
        const lines = [JSON.stringify(ranges.map(([from, to]) => [from, to]))];
        if (options.shaped === true) lines.push(shape);
        if (options.signed === true) lines.push(random.uuid());
        const body = Buffer.from(lines.join("\n") + linesOf(files) + stampOf(codes));
        return { body, contentType: "application/json", extension: "json", ms: 5 };
      }),
    async stop() {},
  };
}

/** What the file of a chunk holds: of another length for each size of number. */
export const rowsOf = (chunk: number): string => `rows of chunk ${chunk}\n`;
const fileOf = (chunk: number) => {
  const body = Buffer.from(rowsOf(chunk));
  return { name: `${hash("sha256", body)}.txt`, bytes: body.length };
};

/** The codes that a partial or a result says it was made by. */
export const codesIn = (text: string): string[] => {
  const last = text.split("\n").at(-1) ?? "";
  return last.includes("@") ? last.split(",") : [];
};

const linesOf = (files: readonly string[] | undefined): string =>
  files === undefined ? "" : `\n${filesMark}${files.join()}`;
const filesMark = "files ";

/** The names of saved files that a partial or a result says. */
export const filesIn = (text: string): string[] | undefined =>
  text
    .split("\n")
    .find((line) => line.startsWith(filesMark))
    ?.slice(filesMark.length)
    .split(",");

/** A few more than are folded, where there are gaps. */
const chunksOf = (parts: readonly CoveringPart[]): number =>
  parts.reduce((sum, { from, to }) => sum + to - from, 0);

function joined(ranges: Ranges): Ranges {
  const all: Ranges = [];
  for (const range of ranges) {
    const [from, to, plan] = range;
    const last = all.at(-1);
    if (last !== undefined && from < last[1])
      throw new CalculationError("doubled", `chunk ${from} came twice or late`);
    if (last !== undefined && last[2] !== plan)
      throw new CalculationError("mixed", `chunks ${last[0]} and ${from} are of two plans`);
    if (last !== undefined && last[1] === from) last[1] = to;
    else all.push([...range]);
  }
  return all;
}

const ranges: AnyCalculation = defineCalculation({
  name: "ranges",
  summary: "tells which chunks were folded",
  params: z.object({
    chunks: z.int().min(0).describe("how many"),
    list: z.boolean().default(false).describe("whether the plan is a list of inputs"),
    stopAt: z.int().min(0).optional().describe("the run stops after a prefix with so many chunks"),
  }),
  plan: ({ chunks }) => chunks,
  compute: ({ index }): Ranges => [[index, index + 1]],
  merge: (a: Ranges, b: Ranges) => joined([...a, ...b]),
  zero: (): Ranges => [],
});

/** What instances and people have unless a simulation gives them other code. */
export const firstCode = "ranges@1";

/** Stands for the registry, with this one calculation. */
export const rangesCalculations: Calculations = {
  list: () => [ranges],
  get: () => ranges,
  versionOf: () => firstCode,
  parseParams,
  describeParams,
};
