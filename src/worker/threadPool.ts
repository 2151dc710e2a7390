import { existsSync } from "node:fs";
import { join } from "node:path";
import { MessageChannel } from "node:worker_threads";
import { Piscina } from "piscina";
import { CalculationError, messageOf } from "../model/errors.ts";
import type { FromThread, ThreadAnswer, ThreadWork, ToThread } from "./threadTask.ts";
import { urgentFirst, withUrgency } from "./urgentFirst.ts";
import type { TaskOptions, TaskOutput, UserCode } from "./userCode.ts";

/**
 * Runs user code in a pool of worker threads, so that the event loop which renews the lease is never blocked by
 * it. A thread that exits, crashes, runs out of memory or passes the time limit fails its own task only; the pool
 * starts another.
 */
export function threadPool(options: {
  readonly threads: number;
  /** Heap of one thread. */
  readonly memoryMb: number;
  /** Files of the user's calculations, absolute. */
  readonly files: readonly string[];
  /** A thread died between two tasks. It is replaced; many in a row mean that threads cannot start. */
  readonly onIdleCrash: (error: unknown) => void;
}): UserCode {
  const pool = new Piscina({
    filename: threadFile(),
    minThreads: options.threads,
    maxThreads: options.threads,
    taskQueue: urgentFirst(),
    resourceLimits: { maxOldGenerationSizeMb: options.memoryMb },
    workerData: { files: options.files },
    execArgv: process.execArgv.filter((one) => !one.startsWith("--input-type")),
  });
  pool.on("error", options.onIdleCrash);

  async function run(
    work: ThreadWork,
    { urgent, limitMs, onStart }: TaskOptions,
    onInputs: (inputs: readonly unknown[]) => Promise<void> = async () => {},
  ): Promise<{ value: unknown; ms: number }> {
    const { port1, port2 } = new MessageChannel();
    const stop = new AbortController();
    let timer: NodeJS.Timeout | undefined;
    let refusal: { readonly error: unknown } | undefined;
    let tooLong = false;

    const answer = async (message: FromThread): Promise<ToThread> => {
      try {
        if (message.say === "inputs") await onInputs(message.inputs);
        else {
          await onStart?.();
          timer = setTimeout(() => {
            tooLong = true;
            stop.abort();
          }, limitMs);
        }
        return "go";
      } catch (error) {
        refusal = { error };
        return "drop";
      }
    };
    port1.on("message", async (message: FromThread) => {
      const reply = await answer(message);
      // Inputs that could not be stored leave nothing to go on with, and the thread may be in the middle of a plan.
      if (reply === "drop" && message.say === "inputs") stop.abort();
      else port1.postMessage(reply);
    });

    try {
      const task = withUrgency({ ...work, port: port2 }, urgent);
      const result = (await pool.run(task, { transferList: [port2], signal: stop.signal })) as ThreadAnswer;
      if (refusal !== undefined) throw refusal.error;
      if (result.ok) return { value: result.value, ms: result.ms };
      throw new CalculationError(result.code, result.message);
    } catch (error) {
      if (refusal !== undefined) throw refusal.error;
      if (tooLong)
        throw new CalculationError(
          "time-limit",
          `the time limit of ${limitMs / 1000} s is past; the thread was ended`,
        );
      throw error instanceof CalculationError ? error : threadFailure(error, options.memoryMb);
    } finally {
      clearTimeout(timer);
      port1.close();
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
    stop: () => pool.destroy(),
  };
}

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
  return new CalculationError("thread-crashed", `the thread crashed: ${messageOf(error)}`, { cause: error });
}

/** In the bundle the entry lies beside the app, in the source beside this file. */
function threadFile(): string {
  const found = ["thread.cjs", "thread.ts"]
    .map((name) => join(import.meta.dirname, name))
    .find((file) => existsSync(file));
  if (found === undefined) throw new Error("the thread's file is missing; run npm run build");
  return found;
}
