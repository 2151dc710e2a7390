import type { WorkMessage } from "../model/message.ts";
import { DroppedError, type WorkerPorts } from "./ports.ts";

/** Throws `DroppedError` when the run no longer wants this work. */
export async function stillWanted(ports: Pick<WorkerPorts, "watch">, message: WorkMessage): Promise<void> {
  const why = await ports.watch.unwanted(message);
  if (why !== undefined) throw new DroppedError(why);
}
