import { randomUUID } from "node:crypto";
import { MessageChannel, type Worker } from "node:worker_threads";
import { Piscina } from "piscina";
import type { ResultBytes } from "../../calculation/contract.ts";
import type { FileAccess } from "../../calculation/files.ts";
import type { PlannedChunks } from "../../calculation/timeChunks.ts";
import { CalculationError, LeasefoldError } from "../../model/errors.ts";
import { shrinkHeap } from "../../storage/system.ts";
import { OtherCodeError } from "../attempt/rightCode.ts";
import { type ChunkMark, chunkMark, markedChunk } from "./chunkMark.ts";
import { taskFiles } from "./taskFiles.ts";
import { threadStart } from "./threadStart.ts";
import {
  answerThread,
  type Question,
  type Reply,
  type ThreadAnswer,
  type ThreadData,
  type ThreadTask,
  type ThreadWork,
} from "./threadTask.ts";
import { urgentFirst } from "./urgentFirst.ts";
import type { ComputeOutput, InputSink, TaskOptions, UserCode } from "./userCode.ts";
import { watchMemory } from "./watchMemory.ts";
import { explained, inChunk, outOfMemory, tooLong } from "./whyEnded.ts";

/** Their heaps and code hold 40 MB each; the next task waits 0.1 s for new ones. */
const idleMsDefault = 30_000;

export interface PoolSettings {
  /** File of the thread, whose default export is a `taskRunner`. */
  readonly entry: string;
  readonly threads: number;
  /** Heap of one thread, and as much again in Buffers. */
  readonly memoryMb: number;
  /** Files of the user's calculations, absolute. */
  readonly files: readonly string[];
  /** Identity of a calculation's code as this process names it; a thread that has other code computes nothing. */
  readonly versionOf?: (calculation: string) => string;
  /** Through which calculations read their files. */
  readonly access: FileAccess;
  /** A thread died between two tasks. It is replaced; many in a row mean that threads cannot start. */
  readonly onIdleCrash: (error: unknown) => void;
  /** Time without a task after which the threads end. */
  readonly idleMs?: number;
  /** Sends what user code prints to standard error, where standard output is the answer of a program. */
  readonly printToError?: boolean;
}

/**
 * Runs user code in a pool of worker threads, so that it never blocks the event loop that renews the lease. A thread
 * that exits, crashes, runs out of memory or reaches the time limit fails its own task only, and the pool starts another.
 * Threads start with the first task and end after a while without one, so a process that only answers the timer has none.
 */
export function poolOf(settings: PoolSettings): UserCode {
  const slots = urgentFirst(settings.threads);
  let pool: Piscina | undefined;
  let tasks = 0;
  let idle: NodeJS.Timeout | undefined;
  let ending: Promise<void> | undefined;
  let stopping: LeasefoldError | undefined;

  async function hold({ urgent, alone }: Parameters<UserCode["hold"]>[0]): Promise<() => void> {
    const needs = alone === true ? settings.threads : 1;
    await slots.take(urgent, needs);
    return () => slots.leave(needs);
  }

  async function run(work: ThreadWork, options: TaskOptions, sink?: InputSink): Promise<Value> {
    const leave = options.held === true ? undefined : await hold(options);
    if (stopping !== undefined) throw stopping;
    clearTimeout(idle);
    tasks += 1;
    const workerOf = (thread: number) => pool?.threads.find(({ threadId }) => threadId === thread);
    const mark = chunkMark();
    const running = runningTask(settings, options, { sink, workerOf, work, mark });
    const { port, stopped, failure } = running;
    try {
      const code = settings.versionOf?.(work.calculation);
      const { limitMs, run = randomUUID() } = options;
      const task: ThreadTask = { ...work, code, limitMs, run, port, mark };
      pool ??= startPool(settings);
      const result = (await pool.run(task, { transferList: [port], signal: stopped })) as ThreadAnswer;
      if (failure.refusal !== undefined) throw failure.refusal;
      return unwrapped(result, code);
    } catch (error) {
      if (options.signal?.aborted) throw options.signal.reason;
      const why = failure.excess ?? stopping ?? explained(error, settings.memoryMb);
      throw failure.refusal ?? inChunk(why, markedChunk(mark), failure.halfway);
    } finally {
      running.close();
      leave?.();
      tasks -= 1;
      if (tasks === 0) idle = setTimeout(endThreads, settings.idleMs ?? idleMsDefault).unref();
    }
  }

  function endThreads(): void {
    ending = pool?.destroy().then(shrinkHeap);
    pool = undefined;
  }

  const output = async (work: ThreadWork, options: TaskOptions) => {
    const { value, ms, waitedMs } = await run(work, options);
    return { bytes: value as Uint8Array, ms, waitedMs };
  };
  return {
    hold,
    async plan(task, sink, options) {
      return (await run({ kind: "plan", ...task }, options, sink)).value as PlannedChunks;
    },
    async compute(task, options) {
      const { value, ms, waitedMs } = await run({ kind: "compute", ...task }, options);
      return { ...(value as Pick<ComputeOutput, "bytes" | "failed">), ms, waitedMs };
    },
    fold: (task, options) => output({ kind: "fold", ...task }, options),
    ask: async (task, options) => (await run({ kind: "ask", ...task }, options)).value as boolean,
    async finish(task, options) {
      return (await run({ kind: "finish", ...task }, options)).value as ResultBytes;
    },
    async stop() {
      stopping = new LeasefoldError("stopping", "this instance is stopping", { retry: "later" });
      slots.close(stopping);
      clearTimeout(idle);
      await Promise.all([ending, pool?.destroy()]);
    },
  };
}

type Value = Extract<ThreadAnswer, { readonly ok: true }>;

const startPool = ({ entry, threads, memoryMb, files, printToError, onIdleCrash }: PoolSettings): Piscina =>
  new Piscina({
    filename: entry,
    minThreads: threads,
    maxThreads: threads,
    ...threadStart(memoryMb),
    workerData: { files, printToError } satisfies ThreadData,
  }).on("error", onIdleCrash);

interface TaskEnds {
  /** For the inputs of a plan. */
  readonly sink: InputSink | undefined;
  readonly work: ThreadWork;
  readonly workerOf: (thread: number) => Worker | undefined;
  readonly mark: ChunkMark;
}

/**
 * The process's side of one task: answers the thread, and stops the task when its time, its memory or the wish for it is
 * over.
 */
function runningTask(
  { access, memoryMb }: PoolSettings,
  { limitMs, signal, onStart, onPrint, onSave, onPiece }: TaskOptions,
  { sink, workerOf, work, mark }: TaskEnds,
) {
  const { port1, port2 } = new MessageChannel();
  const stop = new AbortController();
  const ended = new AbortController();
  /** The first error in answering the thread; too much time or memory; the chunk that was computed after half of the time. */
  const failure: { refusal?: unknown; excess?: CalculationError; halfway?: number | undefined } = {};
  const files = taskFiles(access, ended.signal);

  const stopBy = (error: CalculationError): void => {
    failure.excess ??= error;
    stop.abort();
  };
  let timer = setTimeout(stopBy, startLimitMs, notStarted());
  let halfTime: NodeJS.Timeout | undefined;
  let [leftMs, sinceMs] = [limitMs, 0];
  const atHalf = (): void => {
    failure.halfway = markedChunk(mark);
  };
  const goOn = (): void => {
    sinceMs = performance.now();
    const halfMs = leftMs - limitMs / 2;
    if (halfMs > 0) halfTime = setTimeout(atHalf, halfMs);
    timer = setTimeout(stopBy, leftMs, tooLong(limitMs, work));
  };
  const pause = (): void => {
    leftMs -= performance.now() - sinceMs;
    for (const one of [timer, halfTime]) clearTimeout(one);
  };
  let unwatch = (): void => {};
  const unwanted = (): void => stop.abort();
  signal?.addEventListener("abort", unwanted);
  if (signal?.aborted) unwanted();

  const reply = async (message: Question): Promise<Reply> => {
    if (message.say === "list" || message.say === "read") return files(message);
    if (message.say === "printed") onPrint?.(message.line, message.more ?? 0);
    else if (message.say === "inputs") await sink?.(message.inputs);
    else if (message.say === "save") await onSave?.(message.name, message.body);
    else if (message.say === "reached") {
      // The thread waits for storage, which is none of its time.
      pause();
      await onPiece?.(message.piece);
      if (!ended.signal.aborted) goOn();
    } else {
      clearTimeout(timer);
      await onStart?.(() => markedChunk(mark));
      if (!ended.signal.aborted) {
        goOn();
        unwatch = watchMemory(workerOf(message.thread), memoryMb, (text) => stopBy(outOfMemory(text)));
      }
    }
    return { say: "go" };
  };
  answerThread(port1, ended.signal, async (message) => {
    try {
      return await reply(message);
    } catch (error) {
      failure.refusal ??= error;
      if (message.say === "taken") return { say: "drop" };
      // Without the bytes it asked for, or with inputs or a file that were not stored, a thread cannot go on with its task.
      if (!ended.signal.aborted) stop.abort();
      return undefined;
    }
  });

  return {
    /** The thread's end of the channel. */
    port: port2,
    /** Fires when the thread must be ended. */
    stopped: stop.signal,
    failure,
    close(): void {
      // With a reason, or each task makes an error with its stack.
      ended.abort("ended");
      for (const one of [timer, halfTime]) clearTimeout(one);
      unwatch();
      signal?.removeEventListener("abort", unwanted);
      port1.close();
    },
  };
}

function unwrapped(result: ThreadAnswer, code: string | undefined): Value {
  if (result.ok) return result;
  if (result.code === "other-code") throw new OtherCodeError(code ?? "", result.has);
  throw new CalculationError(result.code, result.message, { details: { stack: result.stack } });
}

/** A thread that loads no user code in this time will never do so; a new one takes about 0.1 s. */
const startLimitMs = 60_000;

const notStarted = (): CalculationError =>
  new CalculationError("thread-not-started", `no thread took the task within ${startLimitMs / 1000} s`);
