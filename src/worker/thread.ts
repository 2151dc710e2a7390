import { type MessagePort, workerData } from "node:worker_threads";
import { loadCalculations } from "../calculations/registry.ts";
import { runCompute, runFinish, runFold, runPlan } from "../calculations/runJob.ts";
import { LeasefoldError, messageOf } from "../model/errors.ts";
import type { FromThread, ThreadAnswer, ThreadTask, ToThread } from "./threadTask.ts";

/**
 * The entry of one worker thread: user code runs here and nowhere else. It has no storage and no lease; what it
 * makes goes back to the process's own thread.
 */
const calculations = loadCalculations((workerData as { files: readonly string[] }).files);
// A file that does not load fails each task with the reason; it must not end the thread before that.
calculations.catch(() => {});

// biome-ignore lint/style/noDefaultExport: Piscina runs the default export of its file.
export default async function run(task: ThreadTask): Promise<ThreadAnswer> {
  const { port } = task;
  let startedMs = performance.now();
  try {
    const known = await calculations;
    if ((await ask(port, { say: "taken" })) === "drop")
      return { ok: false, ms: 0, code: "dropped", message: "" };
    startedMs = performance.now();
    const calculation = known.get(task.calculation);
    const value = await work(task, calculation, (inputs) => ask(port, { say: "inputs", inputs }));
    return { ok: true, ms: performance.now() - startedMs, value };
  } catch (error) {
    const code = error instanceof LeasefoldError ? error.code : "calculation-threw";
    return {
      ok: false,
      ms: performance.now() - startedMs,
      code,
      message: messageOf(error),
      stack: stackOf(error),
    };
  } finally {
    port.close();
  }
}

type Calculation = Parameters<typeof runCompute>[0];

function work(
  task: ThreadTask,
  calculation: Calculation,
  hand: (inputs: readonly unknown[]) => Promise<unknown>,
): Promise<unknown> {
  switch (task.kind) {
    case "plan":
      return runPlan(calculation, task.params, async (inputs) => void (await hand(inputs)));
    case "compute":
      return runCompute(calculation, task);
    case "fold":
      return runFold(calculation, task.params, task.parts);
    case "finish":
      return runFinish(calculation, task);
  }
}

/** Where user code threw; of an error of ours, where its cause did. */
function stackOf(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  return error.cause instanceof Error ? error.cause.stack : error.stack;
}

/** Says something over the port and waits for the answer. */
const ask = (port: MessagePort, message: FromThread): Promise<ToThread> =>
  new Promise((resolve) => {
    port.once("message", resolve);
    port.postMessage(message);
  });
