import type { CallOptions } from "../calls.ts";
import { checkPlainName, plainNames } from "../plainNames.ts";
import type { Clock, ContentLease, Random, Storage } from "../ports.ts";
import { type LeaseRequest, leaseStateAt } from "./leaseTable.ts";
import { checkedMetadata, contentOf, MemoryAccount, type MemoryBlob, refuse } from "./memoryAccount.ts";
import { memoryBlobs } from "./memoryBlobs.ts";
import { type MemoryQueue, memoryQueues } from "./memoryQueues.ts";

/**
 * A storage account in memory, for tests: the documented lease table, ETags, conditions and visibility
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
  const account = new MemoryAccount(given.clock, given.random);
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
    meter: account.meter,
    operator,
  };
}

/** The in-memory storage's lease calls on one blob; the rules are in `leaseTable.ts`. */
function memoryLease(account: MemoryAccount, container: string, name: string): ContentLease {
  checkPlainName(name);
  const peek = (): MemoryBlob | undefined => account.containers.get(container)?.blobs.get(name);
  const present = (ifMatch?: string): MemoryBlob => account.present(container, name, ifMatch);
  const request = (options: Conditional, asked: LeaseRequest): void => {
    account.begin("other", options);
    account.lease(container, name, asked, options?.ifMatch);
  };

  return {
    async ensure(options) {
      // The same calls as the adapter: the blob first, and the container only where that shows it missing.
      account.begin("write", options);
      if (!account.containers.has(container)) {
        account.begin("write", options);
        account.createContainer(container);
        account.begin("write", options);
      }
      if (account.find(container, name) === undefined) account.put(container, name, contentOf("", {}));
    },

    async view(options) {
      account.begin("other", options);
      const blob = peek();
      if (blob === undefined) return { kind: "missing" };
      const { lastModifiedMs, etag, metadata, lease } = blob;
      const leaseState = leaseStateAt(lease, account.nowMs());
      return { kind: "found", dateMs: account.dateMs(), lastModifiedMs, etag, leaseState, metadata };
    },

    async acquire(leaseId, durationS, options) {
      const valid = guid.test(leaseId) && Number.isInteger(durationS) && durationS >= 15 && durationS <= 60;
      if (!valid) throw refuse(400, "InvalidHeaderValue", `lease id ${leaseId}, ${durationS} s`);
      request(options, { op: "acquire", id: leaseId.toLowerCase(), durationMs: durationS * 1000 });
    },

    async renew(leaseId, options) {
      request(options, { op: "renew", id: leaseId.toLowerCase() });
    },

    async release(leaseId, options) {
      request(options, { op: "release", id: leaseId.toLowerCase() });
    },

    async breakNow(options) {
      request(options, { op: "break", periodMs: 0 });
    },

    async writeRecord(leaseId, metadata, options) {
      account.begin("other", options);
      const checked = checkedMetadata(metadata);
      const blob = present(options?.ifMatch);
      account.checkLease(blob, leaseId);
      return { etag: account.put(container, name, { ...blob, metadata: checked }).etag };
    },

    async readContent(options) {
      account.begin("read", options);
      const blob = peek();
      if (blob === undefined) return { kind: "missing" };
      return { kind: "found", body: blob.body.slice(), etag: blob.etag, metadata: blob.metadata };
    },

    async writeContent(leaseId, body, write) {
      account.begin("write", write);
      const content = contentOf(body, write);
      const blob = present(write.ifMatch);
      account.checkLease(blob, leaseId);
      return { etag: account.put(container, name, content).etag };
    },
  };
}

type Conditional = (CallOptions & { readonly ifMatch?: string }) | undefined;

const guid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
