import { callMeter } from "../calls.ts";
import { plainNames } from "../plainNames.ts";
import type { Clock, Random, Storage } from "../ports.ts";
import { MemoryAccount } from "./memoryAccount.ts";
import { memoryBlobs } from "./memoryBlobs.ts";
import { memoryLease } from "./memoryLease.ts";
import { type MemoryQueue, memoryQueues } from "./memoryQueues.ts";

/**
 * An in-memory twin of a storage account, for tests: the documented lease table, ETags, conditions and visibility
 * on a clock of the caller's.
 *
 * Not promised: latency, throttling, throughput limits, or a message order as loose as the real one. A deleted
 * container can be created again at once.
 */
export interface MemoryStorage extends Storage {
  readonly operator: MemoryOperator;
}

/** What a person with a storage browser could do: no lease or condition is checked, nothing is counted. */
interface MemoryOperator {
  deleteContainer(container: string): void;
  deleteQueue(queue: string): void;
  deleteBlob(container: string, blob: string): void;
  /** Writes the bytes over whatever is there; keeps metadata and content type. */
  overwriteBlob(container: string, blob: string, body: Uint8Array | string): void;
  /** Breaks the lease, at once or after a period. */
  breakLease(container: string, blob: string, periodS?: number): void;
  blobNames(container: string): readonly string[];
}

export function memoryStorage(given: {
  /** Its `wallMs` is the service's clock. */
  readonly clock: Clock;
  readonly random: Random;
}): MemoryStorage {
  const meter = callMeter();
  const account = new MemoryAccount(given.clock, given.random, meter);
  const queues = new Map<string, MemoryQueue>();

  const operator: MemoryOperator = {
    deleteContainer: (container) => void account.containers.delete(container),
    deleteQueue: (queue) => void queues.delete(queue),
    deleteBlob: (container, blob) => account.drop(container, blob),
    overwriteBlob: (container, name, body) => {
      const { contentType = "application/octet-stream", metadata = {} } = account.find(container, name) ?? {};
      const bytes = typeof body === "string" ? new TextEncoder().encode(body) : body.slice();
      account.put(container, name, { body: bytes, contentType, metadata });
    },
    breakLease: (container, name, periodS = 0) =>
      account.lease(container, name, { op: "break", periodMs: periodS * 1000 }),
    blobNames: (container) => [...(account.containers.get(container)?.names.from(() => false) ?? [])],
  };

  return {
    blobs: plainNames(memoryBlobs(account)),
    queues: memoryQueues(account, queues),
    lease: (container, blob) => memoryLease(account, container, blob),
    meter,
    operator,
  };
}
