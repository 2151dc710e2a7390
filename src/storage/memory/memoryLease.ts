import type { CallOptions } from "../calls.ts";
import { checkPlainName } from "../plainNames.ts";
import type { ContentLease } from "../ports.ts";
import { type LeaseRequest, leaseStateAt, requestLease } from "./leaseTable.ts";
import {
  checkedMetadata,
  checkLease,
  checkResourceName,
  containerOf,
  contentOf,
  type MemoryBlob,
  type MemoryContainers,
  type MemoryService,
  newContainer,
  putBlob,
  refuse,
} from "./memoryAccount.ts";

/** The twin's lease calls on one blob; the rules are in `leaseTable.ts`. */
export function memoryLease(
  service: MemoryService,
  containers: MemoryContainers,
  container: string,
  name: string,
): ContentLease {
  checkPlainName(name);
  const present = (ifMatch?: string): MemoryBlob => {
    const blob = containerOf(containers, container).blobs.get(name);
    if (blob === undefined) throw refuse(404, "BlobNotFound", name);
    if (ifMatch !== undefined && ifMatch !== blob.etag) throw refuse(412, "ConditionNotMet", name);
    return blob;
  };
  /** Lease calls never move ETag or date. */
  const request = (options: Conditional, asked: LeaseRequest): void => {
    service.begin("other", options);
    const blob = present(options?.ifMatch);
    const answer = requestLease(blob.lease, asked, service.nowMs());
    if ("refusal" in answer) throw refuse(409, answer.refusal, name);
    containerOf(containers, container).blobs.set(name, { ...blob, lease: answer.lease });
  };

  return {
    async ensure(options) {
      // The same calls as the adapter: the blob first, and the container only where that shows it missing.
      service.begin("write", options);
      if (!containers.has(container)) {
        service.begin("write", options);
        checkResourceName(container);
        containers.set(container, newContainer());
        service.begin("write", options);
      }
      const home = containerOf(containers, container);
      if (home.blobs.has(name)) return;
      putBlob(service, home, name, {
        body: new Uint8Array(),
        contentType: "application/octet-stream",
        metadata: {},
      });
    },

    async view(options) {
      service.begin("other", options);
      const blob = containers.get(container)?.blobs.get(name);
      if (blob === undefined) return { kind: "missing" };
      const { lastModifiedMs, etag, metadata, lease } = blob;
      const leaseState = leaseStateAt(lease, service.nowMs());
      return { kind: "found", dateMs: service.dateMs(), lastModifiedMs, etag, leaseState, metadata };
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
      service.begin("other", options);
      const checked = checkedMetadata(metadata);
      const blob = present(options?.ifMatch);
      checkLease(service, blob, leaseId);
      const home = containerOf(containers, container);
      return { etag: putBlob(service, home, name, { ...blob, metadata: checked }).etag };
    },

    async readContent(options) {
      service.begin("read", options);
      const blob = containers.get(container)?.blobs.get(name);
      if (blob === undefined) return { kind: "missing" };
      return { kind: "found", body: blob.body.slice(), etag: blob.etag, metadata: blob.metadata };
    },

    async writeContent(leaseId, body, write) {
      service.begin("write", write);
      const content = contentOf(body, write);
      const blob = present(write.ifMatch);
      checkLease(service, blob, leaseId);
      return { etag: putBlob(service, containerOf(containers, container), name, content).etag };
    },
  };
}

type Conditional = (CallOptions & { readonly ifMatch?: string }) | undefined;

const guid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
