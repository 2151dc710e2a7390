import {
  addCalls,
  type BillingClass,
  type CallCounts,
  noCalls,
  subtractCalls,
} from "../../src/engine/model/calls.ts";
import { limits } from "../../src/engine/model/limits.ts";
import type { Storage } from "../../src/engine/storage/ports.ts";

/** What one party did to storage, by billing class. */
export interface Counted {
  /** Without looks into a queue that found nothing: those are the Functions host's own. */
  counts(): CallCounts;
  /** Its part in one queue: puts, gets that found something, deletes. */
  inQueue(queue: string): number;
  /** Its calls to the blobs of one container. */
  inContainer(container: string): CallCounts;
  /** Puts this in front of a storage. */
  readonly counting: (storage: Storage) => Storage;
}

type Name = keyof Storage["blobs"] | keyof Storage["queues"];
const classOf: Partial<Record<Name, BillingClass>> = {
  ...{ create: "write", replace: "write", list: "list", listFolders: "list", read: "read", stream: "read" },
  ...{ head: "other", setMetadata: "other" },
};

/** Counts the calls of one simulated instance apart from those of the others, which share the in-memory storage's meter. */
export function countedStorage(): Counted {
  const counts: Record<BillingClass, number> = { ...noCalls };
  const queues = new Map<string, number>();
  const containers = new Map<string, CallCounts>();
  const wrap = <Port extends object>(
    port: Port,
    count: (name: string, args: unknown[], value: unknown) => void,
  ) =>
    new Proxy(port, {
      get(target, name) {
        const method = Reflect.get(target, name) as unknown;
        if (typeof method !== "function") return method;
        return async (...args: unknown[]) => {
          const value: unknown = await method.apply(target, args);
          count(String(name), args, value);
          return value;
        };
      },
    });
  const countBlobs = (name: string, args: unknown[]): void => {
    const container = String(args[0]);
    const before = { ...counts };
    if (name === "remove") counts.delete += 1;
    else if (name === "removeMany") {
      const { length } = args[1] as readonly string[];
      counts.delete += length;
      counts.other += Math.ceil(length / limits.blobBatchMax);
    } else counts[classOf[name as Name] ?? "other"] += 1;
    const made = subtractCalls(counts, before);
    containers.set(container, addCalls(containers.get(container) ?? noCalls, made));
  };
  const countLease = (): void => {
    counts.other += 1;
  };
  const countQueues = (name: string, [queue]: unknown[], value: unknown): void => {
    if (name === "receive" && (value as readonly unknown[]).length === 0) return;
    counts.queue += 1;
    if (name !== "peek") queues.set(String(queue), (queues.get(String(queue)) ?? 0) + 1);
  };
  return {
    counts: () => ({ ...counts }),
    inQueue: (queue) => queues.get(queue) ?? 0,
    inContainer: (container) => containers.get(container) ?? noCalls,
    counting: (storage) => ({
      ...storage,
      blobs: wrap(storage.blobs, countBlobs),
      queues: wrap(storage.queues, countQueues),
      lease: (container, blob) => wrap(storage.lease(container, blob), countLease),
    }),
  };
}
