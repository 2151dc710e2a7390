import type { WorkMessage } from "../model/message.ts";
import type { Moment } from "./markerWatch.ts";
import { type Attempt, DroppedError, type WorkerPorts } from "./ports.ts";
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

/** User code under the limits of its attempt, run only if its work is still wanted when a thread takes it. */
export const whileWanted = (
  ports: Pick<WorkerPorts, "watch">,
  { message, limitMs, alone, signal, begin }: Attempt,
  urgent = true,
): TaskOptions => ({
  ...{ urgent, limitMs, alone, signal },
  async onStart() {
    await stillWanted(ports, message, "begin");
    await begin();
  },
});
