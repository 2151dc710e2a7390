import { StorageError } from "../model/errors.ts";
import type { Storage } from "./ports.ts";

const codes = new Set(["ContainerNotFound", "QueueNotFound"]);

/** A definite answer: the container or queue itself does not exist. */
export const isContainerOrQueueMissing = (error: unknown): boolean =>
  error instanceof StorageError && codes.has(error.storageCode);

/**
 * Creates a container or queue of ours when a call finds it missing, and retries that call once. So a process that
 * finds everything makes no call for it, and no process has to be first. Other containers are left alone.
 *
 * Not promised: `upload`, whose body can be read only once, and calls on what has to exist, such as `replace`. An
 * identity that may not create them gets the error that names the missing one.
 */
export function createOnDemand(
  storage: Storage,
  ours: { readonly containers: readonly string[]; readonly queues: readonly string[] },
): Storage {
  const { blobs, queues } = storage;
  const creating = new Map<string, Promise<unknown>>();

  async function retried<T>(
    name: string,
    create: () => Promise<unknown>,
    call: () => Promise<T>,
  ): Promise<T> {
    try {
      return await call();
    } catch (error) {
      if (!isContainerOrQueueMissing(error)) throw error;
      // Calls that miss it at the same time share one creation.
      const created = creating.get(name) ?? create().finally(() => creating.delete(name));
      creating.set(name, created);
      await created.catch((refusal: unknown) => {
        throw refusal instanceof StorageError && refusal.kind === "denied" ? error : refusal;
      });
      return await call();
    }
  }
  const inContainer = <T>(name: string, call: () => Promise<T>): Promise<T> =>
    ours.containers.includes(name) ? retried(name, () => blobs.ensureContainer(name), call) : call();
  const inQueue = <T>(name: string, call: () => Promise<T>): Promise<T> =>
    ours.queues.includes(name) ? retried(name, () => queues.ensureQueue(name), call) : call();

  return {
    ...storage,
    blobs: {
      ...blobs,
      create: (...call) => inContainer(call[0], () => blobs.create(...call)),
      read: (...call) => inContainer(call[0], () => blobs.read(...call)),
      head: (...call) => inContainer(call[0], () => blobs.head(...call)),
      list: (...call) => inContainer(call[0], () => blobs.list(...call)),
    },
    queues: { ...queues, send: (...call) => inQueue(call[0], () => queues.send(...call)) },
  };
}
