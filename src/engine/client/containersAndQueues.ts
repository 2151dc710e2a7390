import { StorageError } from "../model/errors.ts";
import { containersOf, queuesOf } from "../model/names.ts";
import { pages } from "../storage/callSteps.ts";
import { isContainerOrQueueMissing } from "../storage/createOnDemand.ts";
import type { Client } from "./client.ts";

/** Creates the missing containers and queues of the namespace. An identity without the right to do so skips them. */
export async function ensureContainersAndQueues({ storage, names }: Pick<Client, "storage" | "names">) {
  await Promise.all([
    ...containersOf(names).map((name) => unlessDenied(storage.blobs.ensureContainer(name))),
    ...queuesOf(names).map((name) => unlessDenied(storage.queues.ensureQueue(name))),
  ]);
}

/** For what another identity does as well: creating containers and queues, or tidying up. */
export const unlessDenied = (call: Promise<unknown>): Promise<unknown> =>
  call.catch((error: unknown) => {
    if (!(error instanceof StorageError) || error.kind !== "denied") throw error;
  });

/**
 * Calls storage; if a container or queue is missing, creates them all and calls once more. So a run can be submitted
 * before any instance has started.
 */
export async function ensuringContainers<T>(client: Client, call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (error) {
    if (!isContainerOrQueueMissing(error)) throw error;
    await ensureContainersAndQueues(client);
    return await call();
  }
}

/** Awaits a read. A missing container or queue, which is a definite answer, gives `empty`. */
export const emptyIfMissing = <T>(read: Promise<T>, empty: T): Promise<T> =>
  read.catch((error: unknown) => {
    if (isContainerOrQueueMissing(error)) return empty;
    throw error;
  });

type ListOptions = Parameters<Client["storage"]["blobs"]["list"]>[2];

/** A page of blobs; none if the container is missing. */
export const blobPage = ({ storage }: Client, container: string, prefix: string, options?: ListOptions) =>
  emptyIfMissing(storage.blobs.list(container, prefix, options), { blobs: [], dateMs: 0 });

export const blobPages = (client: Client, container: string, prefix: string, options?: ListOptions) =>
  pages((cursor) => blobPage(client, container, prefix, { ...options, cursor }));
