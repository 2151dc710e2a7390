import { MessageChannel, type MessagePort, Worker } from "node:worker_threads";
import type { FileAccess } from "../../calculations/files.ts";
import type { Finding, LawName } from "../../calculations/laws/findings.ts";
import { type CallName, calls as callNames } from "../../calculations/laws/subject.ts";
import { ConfigError, InputError } from "../../model/errors.ts";
import type { Clock } from "../../storage/ports.ts";
import { taskFiles } from "../../worker/threads/taskFiles.ts";
import { threadFile, threadStart } from "../../worker/threads/threadStart.ts";
import type { FromThread } from "../../worker/threads/threadTask.ts";
import type {
  CheckOrder,
  CheckThreadData,
  FromCheckThread,
  LawsTried,
  LoadedCalculation,
} from "./checkMessages.ts";

export interface CheckThread {
  /** The calculation, once its file is loaded. Throws `ConfigError` and `InputError`. */
  readonly loaded: Promise<LoadedCalculation>;
  /** Tries the laws and tells each finding. Throws `InputError` for wrong parameters; a thread's end is a `ThreadEnd`. */
  order(order: CheckOrder, onFinding: (finding: Finding) => void): Promise<LawsTried | ThreadEnd>;
  stop(): Promise<void>;
}

/** The thread is gone before it had tried every law: user code never returned, or ended it. */
export interface ThreadEnd {
  readonly law: LawName | undefined;
  /** What it was doing: `compute of chunk 3`, `merge`, `loading the file`. */
  readonly doing: string;
  readonly why: "time" | "memory" | "exit" | "crash";
  readonly message: string;
}

/** A thread starts, and a file loads, in less, even where the machine is busy. */
const loadMsMin = 15_000;
/** How often the count of calls is looked at. */
const lookMs = 100;

export function startCheck(options: {
  readonly files: readonly string[];
  readonly name: string | undefined;
  readonly access: FileAccess;
  readonly clock: Clock;
  readonly memoryMb: number;
  readonly packLimitMs: number;
  /** The longest that one call of user code may take. */
  readonly limitMs: number;
  /** What the user's code prints. */
  readonly onPrinted: (text: string) => void;
}): CheckThread {
  const calls = new Int32Array(new SharedArrayBuffer(12));
  const { port1, port2 } = new MessageChannel();
  const { files, name, packLimitMs, memoryMb } = options;
  const data: CheckThreadData = {
    files,
    name,
    calls,
    packLimitMs,
    port: port2,
    heapBytesMax: memoryMb * 1e6,
  };
  const worker = new Worker(threadFile(import.meta.dirname, "checkThread"), {
    workerData: data,
    transferList: [port2],
    stdout: true,
    stderr: true,
    ...threadStart(memoryMb),
  });
  for (const stream of [worker.stdout, worker.stderr]) {
    stream.setEncoding("utf8").on("data", (text: string) => options.onPrinted(text));
  }

  const over = new AbortController();
  let law: LawName | undefined;
  let onFinding: (finding: Finding) => void = () => {};
  const loaded = Promise.withResolvers<LoadedCalculation>();
  const tried = Promise.withResolvers<LawsTried | ThreadEnd>();
  const fail = (error: unknown): void => {
    loaded.reject(error);
    tried.reject(error);
  };
  serveFiles(port1, options.access, over.signal, fail);
  // Whoever waits for one of the two only must not be told of the other.
  for (const { promise } of [loaded, tried]) (promise as Promise<unknown>).catch(() => {});

  const end = (why: ThreadEnd["why"], message: string): void => {
    if (over.signal.aborted) return;
    over.abort();
    const doing = doingNow(calls);
    if (Atomics.load(calls, 0) === 0)
      fail(new ConfigError("bad-calculation-file", `${name ?? files.at(-1)}: ${doing} ${message}`));
    else tried.resolve({ law, doing, why, message });
    void worker.terminate();
    port1.close();
  };

  worker.on("message", (message: FromCheckThread) => {
    switch (message.say) {
      case "loaded":
        return loaded.resolve({ name: message.name, params: message.params });
      case "trying":
        law = message.law;
        return;
      case "found":
        return onFinding(message.finding);
      case "tried":
        return tried.resolve(message);
      case "failed":
        return fail(errorOf(message));
    }
  });
  worker.on("error", (error: Error & { code?: string }) => {
    if (error.code === "ERR_WORKER_OUT_OF_MEMORY")
      return end("memory", `needs more than the ${memoryMb} MB of a thread`);
    end("crash", `crashed its thread: ${error.message}`);
  });
  worker.on("exit", () => end("exit", "ended its thread, as process.exit does"));

  const watch = async (): Promise<void> => {
    let seen = Atomics.load(calls, 0);
    let sinceMs = options.clock.monotonicMs();
    while (!over.signal.aborted) {
      await options.clock.sleep(lookMs, over.signal);
      const now = Atomics.load(calls, 0);
      const nowMs = options.clock.monotonicMs();
      const limitMs = now === 0 ? Math.max(loadMsMin, options.limitMs) : options.limitMs;
      if (now !== seen) [seen, sinceMs] = [now, nowMs];
      else if (nowMs - sinceMs > limitMs) end("time", `has not ended after ${limitMs / 1000} s`);
    }
  };
  void watch();

  return {
    loaded: loaded.promise,
    order(order, tell) {
      onFinding = tell;
      worker.postMessage(order);
      return tried.promise;
    },
    async stop() {
      over.abort();
      fail(new DOMException("the check was stopped", "AbortError"));
      port1.close();
      await worker.terminate();
    },
  };
}

function doingNow(calls: Int32Array): string {
  if (Atomics.load(calls, 0) === 0) return "loading the file";
  const call = callNames[Atomics.load(calls, 1)] as CallName;
  const index = Atomics.load(calls, 2);
  return index < 0 ? call : `${call} of chunk ${index}`;
}

/** What a calculation cannot go on from, such as storage that is not there, is for the check to tell and no breach. */
function serveFiles(
  port: MessagePort,
  access: FileAccess,
  signal: AbortSignal,
  onRefused: (error: unknown) => void,
): void {
  const answer = taskFiles(access, signal);
  port.on("message", async (message: FromThread) => {
    if (message.say !== "list" && message.say !== "read") return;
    try {
      const reply = await answer(message);
      const moved = reply.say === "bytes" ? [reply.bytes.buffer as ArrayBuffer] : [];
      if (!signal.aborted) port.postMessage({ ...reply, id: message.id }, moved);
    } catch (error) {
      onRefused(error);
    }
  });
  port.unref();
}

function errorOf({ kind, code, message }: Extract<FromCheckThread, { say: "failed" }>): Error {
  switch (kind) {
    case "input":
      return new InputError("invalid", code, message);
    case "setting":
      return new ConfigError(code, message);
    case "bug":
      return new Error(message);
  }
}
