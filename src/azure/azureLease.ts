import type { BlobServiceClient, BlockBlobClient, ContainerClient } from "@azure/storage-blob";
import type { CallOptions } from "../engine/storage/calls.ts";
import { checkPlainName } from "../engine/storage/plainNames.ts";
import type { ContentLease, LeaseState } from "../engine/storage/ports.ts";
import { withOutcomes } from "../engine/storage/storageErrors.ts";
import {
  azureCalls,
  createOutcomes,
  dateMsOf,
  ifMatchOf,
  matching,
  metadataOf,
  missing,
  noneMatch,
  unquoted,
} from "./azureCalls.ts";
import { downloadBody } from "./azureStream.ts";
import { putBlob } from "./azureUpload.ts";

const call = azureCalls("blob");

/**
 * The lease port on the Azure SDK. Not promised: any retry. `service` must come with its retries off, because the
 * SDK's retries can outlast the lease.
 */
export function azureLease(service: BlobServiceClient, container: string, name: string): ContentLease {
  checkPlainName(name);
  const home = service.getContainerClient(container);
  const blob = home.getBlockBlobClient(name);
  const where = `${container}/${name}`;
  const missingOutcomes = { BlobNotFound: missing, ContainerNotFound: missing };

  return {
    ensure: (options = {}) => ensureBlob(home, blob, options),

    view(options) {
      const view = call(`Get Blob Properties ${where}`, options, async (abortSignal) => {
        const answer = await blob.getProperties({ abortSignal });
        return {
          kind: "found" as const,
          dateMs: dateMsOf(answer),
          lastModifiedMs: answer.lastModified?.getTime() ?? 0,
          etag: unquoted(answer.etag),
          leaseState: (answer.leaseState ?? "available") satisfies LeaseState,
          metadata: metadataOf(answer.metadata),
        };
      });
      return withOutcomes(view, missingOutcomes);
    },

    acquire: (leaseId, durationS, options) =>
      call(`Acquire Lease ${where}`, options, async (abortSignal) => {
        const conditions = ifMatchOf(options?.ifMatch);
        await blob.getBlobLeaseClient(leaseId).acquireLease(durationS, { abortSignal, conditions });
      }),

    renew: (leaseId, options) =>
      call(`Renew Lease ${where}`, options, async (abortSignal) => {
        await blob.getBlobLeaseClient(leaseId).renewLease({ abortSignal });
      }),

    release: (leaseId, options) =>
      call(`Release Lease ${where}`, options, async (abortSignal) => {
        await blob.getBlobLeaseClient(leaseId).releaseLease({ abortSignal });
      }),

    breakNow: (options) =>
      call(`Break Lease ${where}`, options, async (abortSignal) => {
        const conditions = ifMatchOf(options?.ifMatch);
        await blob.getBlobLeaseClient().breakLease(0, { abortSignal, conditions });
      }),

    writeRecord: (leaseId, metadata, options) =>
      call(`Set Blob Metadata ${where}`, options, async (abortSignal) => {
        const conditions = { ...ifMatchOf(options?.ifMatch), leaseId };
        const answer = await blob.setMetadata(metadataOf(metadata), { abortSignal, conditions });
        return { etag: unquoted(answer.etag) };
      }),

    readContent(options) {
      const read = downloadBody(blob, options).then(({ kind, body, properties }) => {
        const { etag, metadata } = properties;
        return { kind, body, etag, metadata };
      });
      return withOutcomes(read, missingOutcomes);
    },

    async writeContent(leaseId, body, write) {
      const { etag } = await putBlob(blob, body, write, { ...matching(write.ifMatch), leaseId });
      return { etag };
    },
  };
}

async function ensureBlob(home: ContainerClient, blob: BlockBlobClient, options: CallOptions): Promise<void> {
  const put = () =>
    withOutcomes(putBlob(blob, "", options, noneMatch), {
      ...createOutcomes,
      // Only a blob that exists can be leased.
      LeaseIdMissing: createOutcomes.BlobAlreadyExists,
      ContainerNotFound: missing,
    });
  if ((await put()).kind !== "missing") return;
  const created = call(`Create Container ${home.containerName}`, options, async (abortSignal) => {
    await home.create({ abortSignal });
  });
  await withOutcomes(created, { ContainerAlreadyExists: undefined });
  await put();
}
