import { MessageChannel, type MessagePort, Worker } from "node:worker_threads";
import type { FileAccess } from "../../calculations/files.ts";
import type { Finding, LawName } from "../../calculations/laws/findings.ts";
import { type CallName, calls as callNames } from "../../calculations/laws/subject.ts";
import { ConfigError, InputError } from "../../model/errors.ts";
import { taskFiles } from "../../worker/threads/taskFiles.ts";
import { threadFile, threadStart } from "../../worker/threads/threadStart.ts";
import { answerThread } from "../../worker/threads/threadTask.ts";
import { needsMore, watchMemory } from "../../worker/threads/watchMemory.ts";
import type { Cli } from "../cli.ts";
import { loadMsMin } from "../loadFiles.ts";
import type { CheckThreadData, FromCheckThread, LawsOrder, LawsTried } from "./checkThread.ts";

export interface CheckRequest extends LawsOrder {
  /** The longest time of one call of user code. */
  readonly limitMs: number;
}

export interface ThreadSetup {
  readonly access: FileAccess;
  readonly memoryMb: number;
  readonly packLimitMs: number;
}

/** The thread ended before it had tried every law, because of user code. */
export interface ThreadEnd {
  readonly law: LawName | undefined;
  /** Such as `compute of chunk 3` or `merge`. */
  readonly doing: string;
  readonly why: "time" | "memory" | "exit" | "crash";
  readonly message: string;
}

interface LawsInThread {
  readonly calculation: string;
  /** As the command line gives them. */
  readonly params: unknown;
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
  const limits = { heapBytesMax: memoryMb * 1e6, packLimitMs };
  const workerData: CheckThreadData = { ...order, limits, calls, port: port2 };
  const file = threadFile(import.meta.dirname, "checkThread");
  const shared = { workerData, transferList: [port2], stdout: true, stderr: true };
  const worker = new Worker(file, { ...shared, ...threadStart(memoryMb) });
  for (const stream of [worker.stdout, worker.stderr])
    stream.setEncoding("utf8").on("data", (text: string) => void err.write(text));

  const done = Promise.withResolvers<LawsInThread>();
  let loaded = { calculation: "", params: {} as unknown };
  let law: LawName | undefined;
  const end = (why: ThreadEnd["why"], message: string): void => {
    const isLoaded = Atomics.load(calls, 0) > 0;
    const doing = isLoaded ? lastCall(calls) : "loading the file";
    const shown = `${order.name ?? order.files.at(-1)}: ${doing} ${message}`;
    if (isLoaded) done.resolve({ ...loaded, ended: { law, doing, why, message } });
    else done.reject(new ConfigError("bad-calculation-file", shown));
  };
  worker.on("message", (message: FromCheckThread) => {
    if (message.say === "loaded") loaded = message;
    else if (message.say === "trying") law = message.law;
    else if (message.say === "found") onFinding(message.finding);
    else if (message.say === "tried") done.resolve({ ...loaded, ended: message.tried });
    else done.reject(errorOf(message));
  });
  worker.on("error", (error: Error & { code?: string }) => {
    const isMemory = error.code === "ERR_WORKER_OUT_OF_MEMORY";
    if (isMemory) end("memory", needsMore(memoryMb));
    else end("crash", `crashed its thread: ${error.message}`);
  });
  const unwatch = watchMemory(worker, memoryMb, (text) => end("memory", text));
  worker.on("exit", () => end("exit", "ended its thread, as process.exit does"));
  const over = new AbortController();
  serveFiles(port1, access, over.signal, done.reject);
  const stop = (): void => done.reject(new DOMException("the check was stopped", "AbortError"));
  signal.addEventListener("abort", stop, { once: true });

  const watch = async (): Promise<void> => {
    let seen = 0;
    let sinceMs = clock.monotonicMs();
    while (!over.signal.aborted) {
      await clock.sleep(pollMs, over.signal);
      const now = Atomics.load(calls, 0);
      const nowMs = clock.monotonicMs();
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
  const call = callNames[Atomics.load(calls, 1)] as CallName;
  const index = Atomics.load(calls, 2);
  return index < 0 ? call : `${call} of chunk ${index}`;
}

/** Answers the thread's requests for files. An error that a calculation cannot handle, such as no storage, ends the check. */
function serveFiles(
  port: MessagePort,
  access: FileAccess,
  signal: AbortSignal,
  onError: (error: unknown) => void,
): void {
  const answer = taskFiles(access, signal);
  answerThread(port, signal, async (question) => {
    if (question.say === "taken" || question.say === "inputs") return undefined;
    return await answer(question).catch((error: unknown) => void onError(error));
  });
  port.unref();
}

function errorOf({ kind, code, message, details }: Extract<FromCheckThread, { say: "failed" }>): Error {
  if (kind === "input") return new InputError("invalid", code, message, details);
  return kind === "setting" ? new ConfigError(code, message) : new Error(message);
}
