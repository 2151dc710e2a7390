import { StorageError } from "../model/errors.ts";
import { poisonOf } from "../model/names.ts";
import type { Client } from "./client.ts";

const placeMissing = new Set(["ContainerNotFound", "QueueNotFound"]);
const isPlaceMissing = (error: unknown): boolean =>
  error instanceof StorageError && placeMissing.has(error.storageCode);

/** Makes every container and queue of the namespace that is not there. */
export async function ensurePlaces({ storage, names }: Pick<Client, "storage" | "names">): Promise<void> {
  const containers = [names.coordination, names.active, names.runs, names.results];
  const queues = [names.packs, names.urgent, names.wake];
  await Promise.all([
    ...containers.map((name) => storage.blobs.ensureContainer(name)),
    ...[...queues, ...queues.map(poisonOf)].map((name) => storage.queues.ensureQueue(name)),
  ]);
}

/**
 * Carries out a write. Where no instance has ever started there is no container or queue yet: then it makes
 * them and writes once more, so that a run may be submitted before the app is deployed.
 */
export async function inPlaces<T>(client: Client, write: () => Promise<T>): Promise<T> {
  try {
    return await write();
  } catch (error) {
    if (!isPlaceMissing(error)) throw error;
    await ensurePlaces(client);
    return await write();
  }
}

/** Carries out a read. Where the container or queue itself is missing (a definite answer) there is nothing in it. */
export async function whereAny<T>(read: Promise<T>, nothing: T): Promise<T> {
  try {
    return await read;
  } catch (error) {
    if (isPlaceMissing(error)) return nothing;
    throw error;
  }
}
