import { MessageChannel } from "node:worker_threads";
import { Piscina } from "piscina";
import type { FileAccess } from "../../calculations/files.ts";
import { placeOf } from "../../calculations/placeOf.ts";
import { CalculationError, LeasefoldError, messageOf } from "../../model/errors.ts";
import { OtherCodeError } from "../attempt/rightCode.ts";
import { taskFiles } from "./taskFiles.ts";
import { threadFile, threadStart } from "./threadStart.ts";
import type { FromThread, Reply, ThreadAnswer, ThreadData, ThreadTask, ThreadWork } from "./threadTask.ts";
import { urgentFirst } from "./urgentFirst.ts";
import type { TaskOptions, TaskOutput, UserCode } from "./userCode.ts";

/**
 * Runs user code in a pool of worker threads, so that the event loop which renews the lease is never blocked by
 * it. A thread that exits, crashes, runs out of memory or passes the time limit fails its own task only; the pool
 * starts another. Its threads start with the first task: a process that only answers the timer has none.
 */
export function threadPool(options: {
  readonly threads: number;
  /** Heap of one thread. */
  readonly memoryMb: number;
  /** Files of the user's calculations, absolute. */
  readonly files: readonly string[];
  /** Identity of a calculation's code as this process tells it; a thread that has other code computes nothing. */
  readonly versionOf?: (calculation: string) => string;
  /** Where calculations read their own files. */
  readonly access: FileAccess;
  /** A thread died between two tasks. It is replaced; many in a row mean that threads cannot start. */
  readonly onIdleCrash: (error: unknown) => void;
  /** What user code prints goes to standard error, where standard output is the answer of a program. */
  readonly printToError?: boolean;
}): UserCode {
  let pool: Piscina | undefined;
  const start = (): Piscina =>
    new Piscina({
      filename: threadFile(import.meta.dirname, "thread"),
      minThreads: options.threads,
      maxThreads: options.threads,
      ...threadStart(options.memoryMb),
      workerData: { files: options.files, printToError: options.printToError } satisfies ThreadData,
    }).on("error", options.onIdleCrash);
  const places = urgentFirst(options.threads);
  let stopping: LeasefoldError | undefined;

  async function run(
    work: ThreadWork,
    { urgent, limitMs, alone, signal, onStart }: TaskOptions,
    onInputs: (inputs: readonly unknown[]) => Promise<void> = async () => {},
  ): Promise<{ value: unknown; ms: number }> {
    await places.take(urgent, alone);
    const { port1, port2 } = new MessageChannel();
    const stop = new AbortController();
    const ended = new AbortController();
    const files = taskFiles(options.access, ended.signal);
    let refusal: { readonly error: unknown } | undefined;
    let overdue: CalculationError | undefined;
    const endAfter = (ms: number, error: CalculationError): NodeJS.Timeout =>
      setTimeout(() => {
        overdue = error;
        stop.abort();
      }, ms);
    let timer = endAfter(startLimitMs, notStarted());
    const unwanted = (): void => stop.abort();
    signal?.addEventListener("abort", unwanted);
    if (signal?.aborted) unwanted();

    const answer = async (message: FromThread): Promise<Reply> => {
      switch (message.say) {
        case "list":
        case "read":
          return files(message);
        case "inputs":
          await onInputs(message.inputs);
          return { say: "go" };
        case "taken":
          clearTimeout(timer);
          await onStart?.();
          if (!ended.signal.aborted) timer = endAfter(limitMs, tooLong(limitMs));
          return { say: "go" };
      }
    };
    port1.on("message", async (message: FromThread) => {
      const reply = await answer(message).catch((error: unknown): Reply => {
        refusal ??= { error };
        return { say: "drop" };
      });
      if (ended.signal.aborted) return;
      // What could not be stored or read leaves nothing to go on with, and the thread is in the middle of its task.
      if (reply.say === "drop" && message.say !== "taken") return stop.abort();
      const moved = reply.say === "bytes" ? [reply.bytes.buffer as ArrayBuffer] : [];
      port1.postMessage({ ...reply, id: message.id }, moved);
    });

    try {
      const code = options.versionOf?.(work.calculation);
      const task: ThreadTask = { ...work, code, limitMs, port: port2 };
      pool ??= start();
      const result = (await pool.run(task, { transferList: [port2], signal: stop.signal })) as ThreadAnswer;
      if (refusal !== undefined) throw refusal.error;
      if (result.ok) return { value: result.value, ms: result.ms };
      if (result.code === "other-code") throw new OtherCodeError(code ?? "", result.has);
      throw new CalculationError(result.code, result.message, { details: { stack: result.stack } });
    } catch (error) {
      if (signal?.aborted) throw signal.reason;
      if (refusal !== undefined) throw refusal.error;
      if (overdue !== undefined) throw overdue;
      if (stopping !== undefined) throw stopping;
      if (error instanceof CalculationError || error instanceof OtherCodeError) throw error;
      throw threadFailure(error, options.memoryMb);
    } finally {
      ended.abort();
      clearTimeout(timer);
      signal?.removeEventListener("abort", unwanted);
      port1.close();
      places.leave(alone);
    }
  }

  const output = async (work: ThreadWork, task: TaskOptions): Promise<TaskOutput> => {
    const { value, ms } = await run(work, task);
    return { bytes: value as Uint8Array, ms };
  };

  return {
    async plan(job, sink, task) {
      const { value } = await run({ kind: "plan", ...job }, task, sink);
      return value as { chunks: number; list: boolean };
    },
    compute: (job, task) => output({ kind: "compute", ...job }, task),
    fold: (job, task) => output({ kind: "fold", ...job }, task),
    async finish(job, task) {
      const { value, ms } = await run({ kind: "finish", ...job }, task);
      return { ...(value as { body: Uint8Array; contentType: string; extension: string }), ms };
    },
    async stop() {
      stopping = new LeasefoldError("stopping", "this instance is stopping", { retry: "later" });
      places.close(stopping);
      await pool?.destroy();
    },
  };
}

/** A thread that loads no user code in this time will never do so; a new one takes about 0.1 s. */
const startLimitMs = 60_000;

const notStarted = (): CalculationError =>
  new CalculationError("thread-not-started", `no thread took the task within ${startLimitMs / 1000} s`);

const tooLong = (limitMs: number): CalculationError =>
  new CalculationError("time-limit", `the time limit of ${limitMs / 1000} s is past; the thread was ended`);

/** What it means that a thread ended before its task did. */
function threadFailure(error: unknown, memoryMb: number): CalculationError {
  if ((error as { code?: unknown }).code === "ERR_WORKER_OUT_OF_MEMORY") {
    return new CalculationError(
      "out-of-memory",
      `the calculation needs more than the ${memoryMb} MB of a thread`,
      { cause: error },
    );
  }
  if (/worker exited with code/i.test(messageOf(error))) {
    return new CalculationError("thread-exited", `the calculation ended its thread: ${messageOf(error)}`, {
      cause: error,
    });
  }
  return new CalculationError("thread-crashed", `the thread crashed: ${messageOf(error)}${placeOf(error)}`, {
    cause: error,
  });
}
