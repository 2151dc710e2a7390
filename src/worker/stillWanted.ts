import type { WorkMessage } from "../model/message.ts";
import type { Moment } from "./markerWatch.ts";
import { DroppedError, type WorkerPorts } from "./ports.ts";
import type { TaskOptions } from "./userCode.ts";

/** Throws `DroppedError` when the run no longer wants this work. */
export async function stillWanted(
  ports: Pick<WorkerPorts, "watch">,
  message: WorkMessage,
  moment: Moment,
): Promise<void> {
  const why = await ports.watch.unwanted(message, moment);
  if (why !== undefined) throw new DroppedError(why);
}

/** User code under the time limit of one attempt, run only if its work is still wanted when a thread takes it. */
export const whileWanted = (
  ports: Pick<WorkerPorts, "watch" | "packLimitMs">,
  message: WorkMessage,
  urgent = true,
): TaskOptions => ({
  urgent,
  limitMs: ports.packLimitMs,
  onStart: () => stillWanted(ports, message, "begin"),
});
