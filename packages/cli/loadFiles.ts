import { Worker } from "node:worker_threads";
import { loadCalculations } from "../../src/calculations/registry.ts";
import type { Calculations } from "../../src/engine/calculation/contract.ts";
import { ConfigError, messageOf } from "../../src/engine/model/errors.ts";
import { threadFile, threadStart } from "../../src/engine/worker/threads/threadStart.ts";
import { builtIn } from "../sql/builtIn.ts";
import type { LoadReport } from "./loadThread.ts";

/** The limit for the start of a thread and one file; enough on a busy machine. */
export const loadMsMin = 15_000;
/** As much as a file could have in this process. */
const memoryMb = 4_096;

/** In the error of a file that took longer. */
export const notEndedInTime = "has not ended after";

interface Loading {
  readonly signal: AbortSignal;
  readonly limitMs?: number;
}

/** A process loads a file once, so it is tried once. */
const tried = new Set<string>();

/**
 * As `loadCalculations`, of files that a thread has loaded before: code that never ends would block this process, and with it
 * Ctrl-C. Throws `ConfigError` for such a file and for one that ends its thread, `AbortError` after Ctrl-C.
 *
 * Not promised: anything about a file that loads in the thread and not here.
 */
export async function loadFiles(files: readonly string[], loading: Loading): Promise<Calculations> {
  const untried = files.filter((file) => !tried.has(file));
  if (untried.length > 0) await loadInThread(untried, loading);
  for (const file of untried) tried.add(file);
  return await loadCalculations(files, builtIn);
}

/** Loads the files beside each other in a new thread, since this process keeps what it has loaded. Throws only `AbortError`. */
export async function tryFiles(files: readonly string[], loading: Loading) {
  try {
    const { error, hashes } = await loadInThread(files, loading);
    return { error, hashes: new Map(Object.entries(hashes)) };
  } catch (error) {
    if (error instanceof ConfigError) return { error: messageOf(error), hashes: new Map<string, string>() };
    throw error;
  }
}

async function loadInThread(files: readonly string[], { signal, limitMs = loadMsMin }: Loading) {
  const output = { stdout: true, stderr: true };
  const worker = new Worker(threadFile(import.meta.dirname, "loadThread"), {
    workerData: files,
    ...output,
    ...threadStart(memoryMb),
  });
  // This process prints the same when it loads the file.
  for (const stream of [worker.stdout, worker.stderr]) stream.resume();

  const done = Promise.withResolvers<LoadReport>();
  let loaded = 0;
  const fail = (what: string): void => {
    const file = files[loaded] ?? files.at(-1);
    done.reject(new ConfigError("bad-calculation-file", `${file}: loading the file ${what}`));
  };
  const late = (): void => fail(`${notEndedInTime} ${limitMs / 1000} s`);
  let timer = setTimeout(late, limitMs);
  worker.on("message", (message: "loaded" | LoadReport) => {
    if (message !== "loaded") return done.resolve(message);
    loaded += 1;
    clearTimeout(timer);
    timer = setTimeout(late, limitMs);
  });
  worker.on("error", (error: Error) => fail(`crashed its thread: ${error.message}`));
  worker.on("exit", () =>
    fail(
      "ended its thread, as process.exit does. It finds no variable but those that --env or LEASEFOLD_ENV names",
    ),
  );
  const stop = (): void => done.reject(new DOMException("the command was stopped", "AbortError"));
  signal.addEventListener("abort", stop, { once: true });
  if (signal.aborted) stop();
  try {
    return await done.promise;
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", stop);
    await worker.terminate();
  }
}
