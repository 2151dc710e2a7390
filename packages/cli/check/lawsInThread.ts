import { MessageChannel, Worker } from "node:worker_threads";
import { childProcesses } from "../../../src/engine/calculation/childProcesses.ts";
import type { FileAccess } from "../../../src/engine/calculation/files.ts";
import { ConfigError, InputError } from "../../../src/engine/model/errors.ts";
import { taskFiles } from "../../../src/engine/worker/threads/taskFiles.ts";
import { threadFile, threadStart } from "../../../src/engine/worker/threads/threadStart.ts";
import { answerThread } from "../../../src/engine/worker/threads/threadTask.ts";
import { needsMore, watchMemory } from "../../../src/engine/worker/threads/watchMemory.ts";
import type { Cli } from "../cli.ts";
import { loadMsMin } from "../loadFiles.ts";
import type { CheckThreadData, FromCheckThread, LawsOrder, LawsTried, Loaded } from "./checkThread.ts";
import type { Finding } from "./laws/findings.ts";
import { calls as callNames } from "./laws/subject.ts";

export interface CheckRequest extends LawsOrder {
  /** The longest time of one call of user code. */
  readonly limitMs: number;
}

export interface ThreadSetup {
  readonly access: FileAccess;
  readonly memoryMb: number;
  readonly packLimitMs: number;
}

/** The thread ended before it had checked every law, because of user code. */
export interface ThreadEnd {
  /** Such as `compute of chunk 3` or `merge`. */
  readonly doing: string;
  readonly why: "time" | "memory" | "exit" | "crash";
  readonly message: string;
}

interface LawsInThread extends Loaded {
  readonly ended: LawsTried | ThreadEnd;
}

/** How often the count of calls is read. */
const pollMs = 100;

/**
 * Tries the laws in a thread, and terminates it if one call of user code takes longer than the limit. Throws
 * `ConfigError` for a file that does not load, `InputError` for wrong parameters, and `AbortError` after Ctrl-C.
 */
export async function lawsInThread(
  { clock, signal, err }: Pick<Cli, "clock" | "signal" | "err">,
  { limitMs, ...order }: CheckRequest,
  { access, memoryMb, packLimitMs }: ThreadSetup,
  onFinding: (finding: Finding) => void,
): Promise<LawsInThread> {
  const calls = new Int32Array(new SharedArrayBuffer(12));
  const { port1, port2 } = new MessageChannel();
  const worker = new Worker(threadFile(import.meta.dirname, "checkThread"), {
    workerData: { ...order, packLimitMs, calls, port: port2 } satisfies CheckThreadData,
    transferList: [port2],
    stdout: true,
    stderr: true,
    ...threadStart(memoryMb),
  });
  for (const stream of [worker.stdout, worker.stderr])
    stream.setEncoding("utf8").on("data", (text: string) => void err.write(text));

  const done = Promise.withResolvers<LawsInThread>();
  const over = new AbortController();
  let loaded: Loaded | undefined;
  const end = (why: ThreadEnd["why"], message: string): void => {
    const doing = loaded === undefined ? "loading the file" : lastCall(calls);
    const of = `${order.name ?? order.files.at(-1)}: ${doing} ${message}`;
    if (loaded !== undefined) done.resolve({ ...loaded, ended: { doing, why, message } });
    else done.reject(new ConfigError("bad-calculation-file", of));
  };
  worker.on("message", childProcesses(() => worker).told);
  worker.on("message", (message: FromCheckThread) => {
    if (!("say" in message)) return;
    if (message.say === "loaded") loaded = message;
    else if (message.say === "found") onFinding(message.finding);
    else if (message.say === "failed") done.reject(errorOf(message));
    else if (loaded !== undefined) done.resolve({ ...loaded, ended: message.tried });
  });
  worker.on("error", (error: Error & { code?: string }) => {
    if (error.code === "ERR_WORKER_OUT_OF_MEMORY") end("memory", needsMore(memoryMb));
    else end("crash", `crashed its thread: ${error.message}`);
  });
  worker.on("exit", () => end("exit", "ended its thread, as process.exit does"));
  const unwatch = watchMemory(worker, memoryMb, (text) => end("memory", text));
  const answer = taskFiles(access, over.signal);
  answerThread(port1, over.signal, async (question) => {
    if (question.say !== "list" && question.say !== "read") return undefined;
    // An error that a calculation cannot handle, such as no storage, ends the check.
    return await answer(question).catch((error: unknown) => void done.reject(error));
  });
  port1.unref();
  const stop = (): void => done.reject(new DOMException("the check was stopped", "AbortError"));
  signal.addEventListener("abort", stop, { once: true });

  const watch = async (): Promise<void> => {
    let [seen, sinceMs] = [0, clock.monotonicMs()];
    while (!over.signal.aborted) {
      await clock.sleep(pollMs, over.signal);
      const [now, nowMs] = [Atomics.load(calls, 0), clock.monotonicMs()];
      const callLimitMs = now === 0 ? Math.max(loadMsMin, limitMs) : limitMs;
      if (now !== seen) [seen, sinceMs] = [now, nowMs];
      else if (nowMs - sinceMs > callLimitMs) end("time", `has not ended after ${callLimitMs / 1000} s`);
    }
  };
  void watch();
  try {
    return await done.promise;
  } finally {
    over.abort();
    unwatch();
    signal.removeEventListener("abort", stop);
    port1.close();
    await worker.terminate();
  }
}

function lastCall(calls: Int32Array): string {
  const [, call = 0, index = -1] = calls;
  return index < 0 ? `${callNames[call]}` : `${callNames[call]} of chunk ${index}`;
}

function errorOf({ kind, code, message, details }: Extract<FromCheckThread, { say: "failed" }>): Error {
  if (kind === "input") return new InputError("invalid", code, message, details);
  return kind === "setting" ? new ConfigError(code, message) : new Error(message);
}
