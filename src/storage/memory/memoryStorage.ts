import { type CallMeter, callMeter } from "../calls.ts";
import { plainNames } from "../plainNames.ts";
import type { Clock, Random, Storage } from "../ports.ts";
import { requestLease } from "./leaseTable.ts";
import {
  containerOf,
  dropBlob,
  type MemoryContainers,
  memoryService,
  putBlob,
  refuse,
} from "./memoryAccount.ts";
import { memoryBlobs } from "./memoryBlobs.ts";
import { memoryLease } from "./memoryLease.ts";
import { type MemoryQueue, memoryQueues } from "./memoryQueues.ts";

/**
 * An in-memory twin of a storage account, for tests: the documented lease table, ETags, conditions and visibility
 * on a clock of the caller's.
 *
 * Not promised: latency, throttling, limits of throughput, or a message order as loose as the real one. A container
 * that was deleted can be made again at once.
 */
export interface MemoryStorage extends Storage {
  readonly operator: MemoryOperator;
}

/** What a person with a storage browser could do to the account: no lease or condition is asked, nothing is counted. */
export interface MemoryOperator {
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
  readonly meter?: CallMeter;
}): MemoryStorage {
  const meter = given.meter ?? callMeter();
  const service = memoryService(given.clock, given.random, meter);
  const containers: MemoryContainers = new Map();
  const queues = new Map<string, MemoryQueue>();

  const operator: MemoryOperator = {
    deleteContainer: (container) => void containers.delete(container),
    deleteQueue: (queue) => void queues.delete(queue),
    deleteBlob: (container, blob) => dropBlob(containerOf(containers, container), blob),
    overwriteBlob: (container, name, body) => {
      const home = containerOf(containers, container);
      const { contentType = "application/octet-stream", metadata = {} } = home.blobs.get(name) ?? {};
      const bytes = typeof body === "string" ? new TextEncoder().encode(body) : body.slice();
      putBlob(service, home, name, { body: bytes, contentType, metadata });
    },
    breakLease: (container, name, periodS = 0) => {
      const { blobs } = containerOf(containers, container);
      const blob = blobs.get(name);
      if (blob === undefined) throw refuse(404, "BlobNotFound", name);
      const answer = requestLease(blob.lease, { op: "break", periodMs: periodS * 1000 }, service.nowMs());
      if ("refusal" in answer) throw refuse(409, answer.refusal, name);
      blobs.set(name, { ...blob, lease: answer.lease });
    },
    blobNames: (container) => [...(containers.get(container)?.names.from(() => false) ?? [])],
  };

  return {
    blobs: plainNames(memoryBlobs(service, containers)),
    queues: memoryQueues(service, queues),
    lease: (container, blob) => memoryLease(service, containers, container, blob),
    meter,
    operator,
  };
}
