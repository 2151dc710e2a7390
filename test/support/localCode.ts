import type { Calculations } from "../../src/engine/calculation/contract.ts";
import { filesOver, noAccess } from "../../src/engine/calculation/files.ts";
import { runCompute, runFinish, runFold, runPlan, runStop } from "../../src/engine/calculation/runJob.ts";
import type { TaskOptions, UserCode } from "../../src/engine/worker/threads/userCode.ts";

/** User code in this very thread, whose every chunk is said to take so long; pauses between attempts at a chunk take no time. */
export function localCode(
  calculations: Pick<Calculations, "get">,
  chunkMs: number | ((chunk: number) => number) = 10,
  /** Share of its time in which a chunk computes. */
  busy = 1,
): UserCode & { readonly tasks: TaskOptions[]; stopped(): number } {
  const tasks: TaskOptions[] = [];
  let stops = 0;
  const msOf = (chunk: number): number => (typeof chunkMs === "number" ? chunkMs : chunkMs(chunk));
  return {
    tasks,
    stopped: () => stops,
    hold: async () => () => {},
    plan(job, sink, task) {
      tasks.push(task);
      return runPlan(calculations.get(job.calculation), job.params, sink);
    },
    async compute(job, task) {
      tasks.push(task);
      const files = filesOver({ ...noAccess, save: task.onSave });
      const bytes = await runCompute(calculations.get(job.calculation), job, files);
      let ms = 0;
      for (let chunk = job.from; chunk < job.to; chunk += 1) ms += msOf(chunk);
      return { bytes, ms, busyMs: busy * ms };
    },
    async fold(job) {
      return { bytes: await runFold(calculations.get(job.calculation), job.params, job), ms: 0 };
    },
    ask: (job) => runStop(calculations.get(job.calculation), job),
    async finish(job) {
      return { ...(await runFinish(calculations.get(job.calculation), job)), ms: 0 };
    },
    async stop() {
      stops += 1;
    },
  };
}
