import { StorageError } from "../model/errors.ts";
import { containersOf, queuesOf } from "../model/names.ts";
import { isContainerOrQueueMissing } from "../storage/createOnDemand.ts";
import type { Client } from "./client.ts";

/**
 * Makes every container and queue of the namespace that is not there. An identity that may not make them finds them made
 * by the deployment; where it does not, its first call says which one is missing.
 */
export async function ensurePlaces({ storage, names }: Pick<Client, "storage" | "names">): Promise<void> {
  await Promise.all([
    ...containersOf(names).map((name) => unlessDenied(storage.blobs.ensureContainer(name))),
    ...queuesOf(names).map((name) => unlessDenied(storage.queues.ensureQueue(name))),
  ]);
}

const unlessDenied = (making: Promise<unknown>): Promise<unknown> =>
  making.catch((error: unknown) => {
    if (!(error instanceof StorageError) || error.kind !== "denied") throw error;
  });

/**
 * Carries out a write. Where no instance has ever started there is no container or queue yet: then it makes
 * them and writes once more, so that a run may be submitted before the app is deployed.
 */
export async function inPlaces<T>(client: Client, write: () => Promise<T>): Promise<T> {
  try {
    return await write();
  } catch (error) {
    if (!isContainerOrQueueMissing(error)) throw error;
    await ensurePlaces(client);
    return await write();
  }
}

/** Carries out a read. Where the container or queue itself is missing (a definite answer) there is nothing in it. */
export async function whereAny<T>(read: Promise<T>, nothing: T): Promise<T> {
  try {
    return await read;
  } catch (error) {
    if (isContainerOrQueueMissing(error)) return nothing;
    throw error;
  }
}
