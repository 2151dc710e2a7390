import { MessageChannel, type Worker } from "node:worker_threads";
import type { childProcesses } from "../../calculation/childProcesses.ts";
import type { FileAccess } from "../../calculation/files.ts";
import { CalculationError } from "../../model/errors.ts";
import { type ChunkMark, type MarkedChunk, markedChunk } from "./chunkMark.ts";
import { taskFiles } from "./taskFiles.ts";
import { answerThread, type Question, type Reply, type ThreadWork } from "./threadTask.ts";
import type { InputSink, TaskOptions } from "./userCode.ts";
import { watchMemory } from "./watchMemory.ts";
import { outOfMemory, tooLong } from "./whyEnded.ts";

/** Time for a thread to see that its process was killed. */
const reapMs = 200;

interface Failure {
  /** The first error in answering the thread. */
  refusal?: unknown;
  /** Too much time or memory. */
  excess?: CalculationError;
  /** A process of the thread was killed. */
  killed: boolean;
  /** The chunk that was computed when the thread was to end. */
  at?: MarkedChunk | undefined;
}

interface TaskEnds {
  /** For the inputs of a plan. */
  readonly sink: InputSink | undefined;
  readonly work: ThreadWork;
  readonly workerOf: (thread: number) => Worker | undefined;
  readonly mark: ChunkMark;
  readonly children: ReturnType<typeof childProcesses>;
}

/**
 * The process's side of one task: answers the thread, and stops the task when its time, its memory or the wish for it is
 * over.
 */
export function runningTask(
  { access, memoryMb }: { readonly access: FileAccess; readonly memoryMb: number },
  { limitMs, signal, onStart, onPrint, onSave, onKept, onThrew }: TaskOptions,
  { sink, workerOf, work, mark, children }: TaskEnds,
) {
  const { port1, port2 } = new MessageChannel();
  const stop = new AbortController();
  const ended = new AbortController();
  const failure: Failure = { killed: false };
  const files = taskFiles(access, ended.signal);

  let thread: number | undefined;
  let reaped: NodeJS.Timeout | undefined;
  const end = (): void => {
    failure.at ??= markedChunk(mark);
    // The thread sees its process end and is ended then; if it were first, nobody would take note of that end.
    failure.killed ||= thread !== undefined && children.kill(thread);
    if (failure.killed) reaped ??= setTimeout(() => stop.abort(), reapMs);
    else stop.abort();
  };
  const stopBy = (error: CalculationError): void => {
    failure.excess ??= error;
    end();
  };
  let timer = setTimeout(stopBy, startLimitMs, notStarted());
  let unwatch = (): void => {};
  signal?.addEventListener("abort", end);
  if (signal?.aborted) end();

  const reply = async (message: Question): Promise<Reply> => {
    if (message.say === "list" || message.say === "read") return files(message);
    if (message.say === "printed") onPrint?.(message.line, message.more ?? 0);
    else if (message.say === "threw") onThrew?.(message);
    else if (message.say === "inputs") await sink?.(message.inputs);
    else if (message.say === "save") await onSave?.(message.name, message.body);
    else if (message.say === "keep") await onKept?.(message.body);
    else {
      clearTimeout(timer);
      thread = message.thread;
      await onStart?.(() => markedChunk(mark)?.index);
      if (!ended.signal.aborted) {
        timer = setTimeout(stopBy, limitMs, tooLong(limitMs, work));
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
      if (!ended.signal.aborted) end();
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
      for (const one of [timer, reaped]) clearTimeout(one);
      unwatch();
      signal?.removeEventListener("abort", end);
      port1.close();
    },
  };
}

/** A thread that loads no user code in this time will never do so; a new one takes about 0.1 s. */
const startLimitMs = 60_000;

const notStarted = (): CalculationError =>
  new CalculationError("thread-not-started", `no thread took the task within ${startLimitMs / 1000} s`);
