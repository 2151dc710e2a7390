import { StorageError } from "../model/errors.ts";
import type { Storage } from "./ports.ts";

const placeMissing = new Set(["ContainerNotFound", "QueueNotFound"]);

/** A definite answer: the container or queue itself is not there. */
export const isPlaceMissing = (error: unknown): boolean =>
  error instanceof StorageError && placeMissing.has(error.storageCode);

/**
 * Makes a container or queue of ours when a call finds it missing, and makes that call once more. So a process that
 * finds everything there makes no call for it, and nobody has to be first. Containers of others are left alone.
 *
 * Not promised: `upload`, whose body can be read once only, and calls on what has to be there, such as `replace`. An
 * identity that may not make a place gets the answer that names the missing one.
 */
export function placesOnDemand(
  storage: Storage,
  places: { readonly containers: readonly string[]; readonly queues: readonly string[] },
): Storage {
  const { blobs, queues } = storage;
  const making = new Map<string, Promise<unknown>>();

  async function retried<T>(place: string, make: () => Promise<unknown>, call: () => Promise<T>): Promise<T> {
    try {
      return await call();
    } catch (error) {
      if (!isPlaceMissing(error)) throw error;
      // Calls that miss it at the same moment share one that makes it.
      const made = making.get(place) ?? make().finally(() => making.delete(place));
      making.set(place, made);
      await made.catch((refusal: unknown) => {
        throw refusal instanceof StorageError && refusal.kind === "denied" ? error : refusal;
      });
      return await call();
    }
  }
  const inContainer = <T>(name: string, call: () => Promise<T>): Promise<T> =>
    places.containers.includes(name) ? retried(name, () => blobs.ensureContainer(name), call) : call();
  const inQueue = <T>(name: string, call: () => Promise<T>): Promise<T> =>
    places.queues.includes(name) ? retried(name, () => queues.ensureQueue(name), call) : call();

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
