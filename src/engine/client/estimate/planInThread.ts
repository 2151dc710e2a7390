import type * as z from "zod";
import type { FileAccess } from "../../calculation/files.ts";
import { InputError } from "../../model/errors.ts";
import { clientLimits } from "../client.ts";
import { requestSchema } from "../runRequest.ts";
import { type EstimatePorts, estimateRun, type PlanningCode, type RunEstimate } from "./estimateRun.ts";
import { countedFiles } from "./fileUse.ts";

export const planSchema = requestSchema
  .pick({ calculation: true, params: true, packSize: true, workers: true, maxCost: true })
  .meta({ id: "PlanRequest" });
export type PlanRequest = z.infer<typeof planSchema>;

export interface PlanningPorts
  extends Pick<EstimatePorts, "calculations" | "clock" | "settings" | "planWorkers"> {
  /** Through which the calculation reads its files; its calls are counted. */
  readonly access: FileAccess;
  startThread(access: FileAccess): Promise<PlanningCode & { stop(): Promise<void> }>;
}

/** Plans a run in a thread of its own, as `estimateRun`. The thread is always ended: at the latest when the signal fires. */
export async function planInThread(
  request: PlanRequest,
  { access, startThread, ...ports }: PlanningPorts,
  signal: AbortSignal,
): Promise<RunEstimate> {
  const files = countedFiles(access);
  const code = await startThread(files.access);
  const stop = (): void => void code.stop();
  signal.addEventListener("abort", stop, { once: true });
  try {
    if (signal.aborted) stop();
    return await estimateRun(request, { ...ports, code, fileUse: files.take });
  } finally {
    signal.removeEventListener("abort", stop);
    await code.stop();
  }
}

/**
 * Plans for callers over HTTP: a few at once, each within a limit of time. Throws `InputError` `plans-at-once` and
 * `plan-over-limit` beyond these.
 */
export function planWithin(ports: () => PlanningPorts, limitMs: number = clientLimits.planLimitMs) {
  let running = 0;
  return async (request: PlanRequest): Promise<RunEstimate> => {
    if (running >= clientLimits.plansAtOnce) {
      const message = `${running} runs are being planned here already; try again in some seconds`;
      throw new InputError("conflict", "plans-at-once", message);
    }
    const all = ports();
    running += 1;
    const over = new AbortController();
    const cancel = all.clock.after(limitMs, () => over.abort());
    try {
      return await planInThread(request, all, over.signal);
    } catch (error) {
      if (!over.signal.aborted) throw error;
      const rest = `the plan of ${JSON.stringify(request.calculation)} took more than ${limitMs / 1_000} s`;
      throw new InputError("conflict", "plan-over-limit", `${rest}; "leasefold plan" has no such limit`);
    } finally {
      cancel();
      running -= 1;
    }
  };
}
