import { AsyncLocalStorage } from "node:async_hooks";
import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { threadId, workerData } from "node:worker_threads";
import { chunkNow, withinAttempt } from "../../calculation/attempt.ts";
import type { ChunkTime } from "../../calculation/chunkAttempts.ts";
import type { AttemptTime, Calculations } from "../../calculation/contract.ts";
import { type Files, filesOver, releaseSpares } from "../../calculation/files.ts";
import { placeOf } from "../../calculation/placeOf.ts";
import { runCompute, runFinish, runFold, runPlan, runStop } from "../../calculation/runJob.ts";
import { setUp } from "../../calculation/shared.ts";
import { CalculationError, messageOf } from "../../model/errors.ts";
import { printedLimits } from "../../model/printed.ts";
import { setLatest } from "../setLatest.ts";
import { chunkMarker, markChunk } from "./chunkMark.ts";
import { limitConsole, printingOf, withPrinting } from "./printing.ts";
import { printWarnings } from "./printWarnings.ts";
import { errorAsData } from "./threadError.ts";
import { refusal, type ThreadAnswer, type ThreadData, type ThreadTask, threadPort } from "./threadTask.ts";
import type { ComputeOutput, InputSink } from "./userCode.ts";

/**
 * What one worker thread does with a task, given how it loads the calculations: user code runs here and nowhere else. A thread
 * has no storage and no lease: what it reads comes from the main thread, and what it makes goes back there.
 */
export function taskRunner(load: (files: readonly string[]) => Promise<Calculations>): TaskRunner {
  const { files, printToError } = workerData as ThreadData;
  if (printToError === true) process.stdout.write = process.stderr.write.bind(process.stderr);
  printWarnings();
  limitConsole();
  const calculations = owners.run(ofFiles, () => load(files));
  // A file that does not load fails each task with the reason; the rejection alone must not end the thread.
  calculations.catch(() => {});
  keepFloating();
  return (task) => (task === "rest" ? rest(calculations) : runTask(task, calculations));
}

type TaskRunner = (task: ThreadTask | "rest") => Promise<ThreadAnswer | undefined>;

/** Ends what the calculations keep in this thread, which nobody may need again. */
async function rest(calculations: Promise<Calculations>): Promise<undefined> {
  for (const calculation of (await calculations).list()) await calculation.end?.();
}

async function runTask(task: ThreadTask, calculations: Promise<Calculations>): Promise<ThreadAnswer> {
  const { port } = task;
  const { ask, tell, access } = threadPort(port);
  const printing = printingOf(tell);
  try {
    const known = await calculations;
    const has = known.versionOf(task.calculation);
    if (task.code !== undefined && has !== task.code) return { ok: false, has };
    const reply = await ask({ say: "taken", thread: threadId });
    if (reply.say === "drop") throw refusal(reply);
    const calculation = known.get(task.calculation);
    const files = filesOver(access);
    const sink: InputSink = async (inputs) => void (await ask({ say: "inputs", inputs }));
    const time = timeOf(task.limitMs);
    let startedMs = performance.now();
    let waitedBeforeMs = waitedMs();
    let idleBeforeMs = idleMs();
    const run = async () => {
      if (task.kind === "plan") return runPlan(calculation, task.params, sink, { files, time });
      const ready = await readyFor(task, calculation, files);
      // What is done once for a run says nothing of the time of its packs.
      startedMs = performance.now();
      waitedBeforeMs = waitedMs();
      idleBeforeMs = idleMs();
      return work(task, ready, files, { ask, tell });
    };
    const blame = (chunk: number): void => markChunk(task.mark, chunk);
    const value = await withinAttempt(time, () => withPrinting(printing, () => withFloating(run, blame)));
    const waitedForMs = waitedMs() - waitedBeforeMs;
    const ms = performance.now() - startedMs;
    const busyMs = Math.max(ms - (idleMs() - idleBeforeMs), 0);
    return { ok: true, ms, waitedMs: Math.min(waitedForMs, ms), busyMs, value };
  } catch (error) {
    return { ok: false, error: errorAsData(error) };
  } finally {
    releaseSpares();
    // Its answer comes after all lines, and the process does not close the port before.
    if (printing.printed > 0)
      await ask({ say: "printed", more: Math.max(0, printing.printed - printedLimits.lines) });
    port.close();
  }
}

/** Runs whose `setup` a thread keeps: two that take turns on it, so that neither sets up for every pack. */
const runsKept = 2;
const kept = new Map<string, Calculation>();

/** The calculation as its `setup` made it ready for a run, once. One that failed is tried again by the next task. */
async function readyFor({ run, params }: ThreadTask, calculation: Calculation, files: Files) {
  const key = `${calculation.name} ${run}`;
  const ready = kept.get(key) ?? (await setUp(calculation, params, files));
  setLatest(kept, key, ready, runsKept);
  return ready;
}

/** A task as the owner of the promises and the callbacks that its code makes. */
interface Owner {
  phase: "works" | "waits" | "ended";
  readonly floating: unknown[];
  /** Names the chunk whose code made what ends the thread now. */
  readonly blame?: (chunk: number) => void;
}

const owners = new AsyncLocalStorage<Owner>();
let latest: Owner | undefined;
/** What files do as they are loaded belongs to no task. */
const ofFiles: Owner = { phase: "ended", floating: [] };

/**
 * An error that nobody handles, of a promise or of a callback such as that of a timer, belongs to the task whose code made it,
 * however late. While that works, it ends the thread, as everywhere in Node; after that the rejection of a promise fails the
 * task; and when the task's answer is given, the error is only printed: the thread may compute a chunk of another run.
 */
function keepFloating(): void {
  process.on("unhandledRejection", (error) => {
    const owner = owners.getStore() ?? latest;
    if (owner?.phase === "waits") owner.floating.push(error);
    else if (owner?.phase === "ended") printLate("a promise", "was rejected", error);
    else throw error instanceof Error ? error : new Error(messageOf(error));
  });
  process.on("uncaughtException", (error) => {
    const owner = owners.getStore() ?? latest;
    if (owner?.phase === "ended") return printLate("a callback", "threw", error);
    const chunk = chunkNow();
    if (chunk !== undefined) owner?.blame?.(chunk);
    throw error;
  });
}

const printLate = (what: string, did: string, error: unknown): void =>
  console.error(`${what} of a task that has ended ${did}: ${messageOf(error)}${placeOf(error)}`);

/**
 * Does work and waits one turn for promises that it did not await: a rejection of one fails this work, if nothing else did
 * before.
 */
async function withFloating<T>(run: () => Promise<T>, blame: (chunk: number) => void): Promise<T> {
  const owner: Owner = { phase: "works", floating: [], blame };
  latest = owner;
  const [done] = await Promise.allSettled([owners.run(owner, run)]);
  owner.phase = "waits";
  await new Promise((turned) => setImmediate(turned));
  owner.phase = "ended";
  if (done.status === "rejected") throw done.reason;
  const [error] = owner.floating;
  if (owner.floating.length === 0) return done.value;
  const what = `a promise that was not awaited was rejected: ${messageOf(error)}${placeOf(error)}`;
  throw new CalculationError("calculation-threw", what, { cause: error });
}

/**
 * Time since its start that this thread was ready to run while other threads had the cores, in ms. 0 where the system
 * does not tell: only Linux does (docs.kernel.org/scheduler/sched-stats.html, second field, in nanoseconds).
 */
function waitedMs(): number {
  try {
    return Number(readFileSync("/proc/thread-self/schedstat", "utf8").split(" ")[1]) / 1e6;
  } catch {
    return 0;
  }
}

/** Time since its start that this thread had nothing to do. */
const idleMs = (): number => performance.eventLoopUtilization().idle;

type Calculation = Parameters<typeof runCompute>[0];

async function work(
  task: Exclude<ThreadTask, { readonly kind: "plan" }>,
  calculation: Calculation,
  files: Files,
  { ask, tell }: Pick<ReturnType<typeof threadPort>, "ask" | "tell">,
): Promise<unknown> {
  switch (task.kind) {
    case "compute": {
      let failed: ComputeOutput["failed"];
      const bytes = await runCompute(calculation, task, files, {
        searchOn: timeBox(Math.min(searchMs, task.limitMs / searchShare)),
        onChunk: chunkMarker(task.mark, () => performance.now()),
        time: chunkTime(),
        onThrew: (failure) => tell({ say: "threw", ...failure }),
        onFailed: (chunks) => {
          failed = chunks;
        },
        ...(task.keeps && { onKept: async (body: Uint8Array) => void (await ask({ say: "keep", body })) }),
      });
      return { bytes, failed };
    }
    case "fold":
      return runFold(calculation, task.params, task);
    case "ask":
      return runStop(calculation, task);
    case "finish":
      return runFinish(calculation, task);
  }
}

/** For the chunks of a pack that begins now. */
function chunkTime(): ChunkTime {
  const startedMs = performance.now();
  return {
    sleep: (ms, signal) => sleep(ms, undefined, { signal }),
    spentMs: () => performance.now() - startedMs,
  };
}

/** The time of an attempt that begins now. */
function timeOf(limitMs: number): AttemptTime {
  const startedMs = performance.now();
  const marginMs = Math.min(limitMs / 4, Math.max(1_000, limitMs / 32));
  return {
    limitMs,
    spentMs: () => performance.now() - startedMs,
    ending: AbortSignal.timeout(Math.floor(limitMs - marginMs)),
  };
}

/** Time for the search for a chunk whose partial cannot be stored; at the time limit nothing would be reported. */
const searchMs = 5_000;
const searchShare = 4;

/** A function that is true from its first call on for so long. */
function timeBox(ms: number): () => boolean {
  let untilMs: number | undefined;
  return () => {
    untilMs ??= performance.now() + ms;
    return performance.now() < untilMs;
  };
}
