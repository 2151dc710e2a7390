import { randomUUID } from "node:crypto";
import { Piscina } from "piscina";
import { childProcesses } from "../../calculation/childProcesses.ts";
import type { ResultBytes } from "../../calculation/contract.ts";
import type { FileAccess } from "../../calculation/files.ts";
import type { PlannedChunks } from "../../calculation/timeChunks.ts";
import { LeasefoldError } from "../../model/errors.ts";
import { shrinkHeap, systemClock } from "../../storage/system.ts";
import { OtherCodeError } from "../attempt/rightCode.ts";
import { chunkMark, markedChunk } from "./chunkMark.ts";
import { runningTask } from "./runningTask.ts";
import { errorOfData } from "./threadError.ts";
import { threadSlots } from "./threadSlots.ts";
import { threadStart } from "./threadStart.ts";
import type { ThreadAnswer, ThreadData, ThreadTask, ThreadWork } from "./threadTask.ts";
import type { ComputeOutput, InputSink, TaskOptions, UserCode } from "./userCode.ts";
import { explained, inChunk } from "./whyEnded.ts";

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
  const slots = threadSlots(settings.threads, systemClock);
  let pool: Piscina | undefined;
  let tasks = 0;
  let idle: NodeJS.Timeout | undefined;
  let ending: Promise<void> | undefined;
  let stopping: LeasefoldError | undefined;

  const workerOf = (thread: number) => pool?.threads.find(({ threadId }) => threadId === thread);
  const children = childProcesses(workerOf);

  async function run(work: ThreadWork, options: TaskOptions, sink?: InputSink): Promise<Value> {
    const leave = options.held === true ? undefined : await slots.hold(options);
    if (stopping !== undefined) throw stopping;
    clearTimeout(idle);
    tasks += 1;
    const mark = chunkMark();
    const running = runningTask(settings, options, { sink, workerOf, work, mark, children });
    const { port, stopped, failure } = running;
    try {
      const code = settings.versionOf?.(work.calculation);
      const { limitMs, run = randomUUID() } = options;
      const task: ThreadTask = { ...work, code, limitMs, run, port, mark };
      pool ??= startPool(settings).on("message", children.told);
      const result = (await pool.run(task, { transferList: [port], signal: stopped })) as ThreadAnswer;
      // One whose process was killed may have gone on without that chunk.
      if (failure.refusal !== undefined || failure.killed) throw failure.refusal ?? failure.excess;
      return unwrapped(result, code);
    } catch (error) {
      if (options.signal?.aborted) throw options.signal.reason;
      const why = failure.excess ?? stopping ?? explained(error, settings.memoryMb);
      throw failure.refusal ?? inChunk(why, failure.at ?? markedChunk(mark), options.limitMs);
    } finally {
      running.close();
      leave?.();
      tasks -= 1;
      if (tasks === 0) idle = setTimeout(endThreads, settings.idleMs ?? idleMsDefault).unref();
    }
  }

  function endThreads(): void {
    const [idlePool, rested] = [pool, children.any() ? (pool?.threads ?? []) : []];
    // A process that is ended by its own thread leaves nothing in the table of processes.
    ending = Promise.allSettled(rested.map(() => idlePool?.run("rest")))
      .then(() => idlePool?.destroy())
      .then(shrinkHeap);
    pool = undefined;
  }

  const output = async (work: ThreadWork, options: TaskOptions) => {
    const { value, ms, waitedMs } = await run(work, options);
    return { bytes: value as Uint8Array, ms, waitedMs };
  };
  return {
    hold: slots.hold,
    async plan(task, sink, options) {
      return (await run({ kind: "plan", ...task }, options, sink)).value as PlannedChunks;
    },
    async compute(task, options) {
      const { value, ...times } = await run(
        { kind: "compute", keeps: options.onKept !== undefined, ...task },
        options,
      );
      const { ms, waitedMs, busyMs } = times;
      return { ...(value as Pick<ComputeOutput, "bytes" | "failed">), ms, waitedMs, busyMs };
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

function unwrapped(result: ThreadAnswer, code: string | undefined): Value {
  if (result.ok) return result;
  throw "error" in result ? errorOfData(result.error) : new OtherCodeError(code ?? "", result.has);
}
