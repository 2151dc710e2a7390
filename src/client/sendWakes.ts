import { StorageError } from "../model/errors.ts";
import { limits } from "../model/limits.ts";
import { encodeWake } from "../model/message.ts";
import type { Client } from "./client.ts";
import { inPlaces } from "./places.ts";

/**
 * Asks for a tick now and once more a little later, because the first wake may meet a leader that is just
 * leaving. False if the queue could not be reached: what was written stands, and the next timer tick sees it, so
 * a missing wake is a delay and never an error.
 */
export async function sendWakes(client: Client, from: string): Promise<boolean> {
  const send = (options: { visibleInS?: number }): Promise<unknown> =>
    inPlaces(client, () => client.storage.queues.send(client.names.wake, encodeWake(from), options));
  try {
    await send({});
    await send({ visibleInS: limits.secondWakeS });
    return true;
  } catch (error) {
    if (error instanceof StorageError) return false;
    throw error;
  }
}
