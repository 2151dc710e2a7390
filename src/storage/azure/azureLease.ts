import type { BlobServiceClient } from "@azure/storage-blob";
import { checkPlainName } from "../plainNames.ts";
import type { ContentLease, LeaseState } from "../ports.ts";
import {
  azureCalls,
  byteLengthOf,
  dateMsOf,
  ifMatchOf,
  metadataOf,
  noneMatch,
  unquoted,
} from "./azureCalls.ts";
import { downloadStream } from "./azureStream.ts";
import { withOutcomes } from "./storageErrors.ts";

const call = azureCalls("blob");

const missing = { kind: "missing" } as const;

/**
 * The lease port on the Azure SDK. Not promised: any repeat. `service` must come with its retries off, since the
 * SDK's repeats can outlast the lease.
 */
export function azureLease(service: BlobServiceClient, container: string, name: string): ContentLease {
  checkPlainName(name);
  const home = service.getContainerClient(container);
  const blob = home.getBlockBlobClient(name);
  const where = `${container}/${name}`;
  const conditional = (signal: AbortSignal, ifMatch: string | undefined) => ({
    abortSignal: signal,
    conditions: ifMatch === undefined ? {} : ifMatchOf(ifMatch),
  });

  return {
    async ensure(options) {
      const putBlob = () =>
        withOutcomes(
          call(`Put Blob ${where}`, options, async ({ signal }) => {
            await blob.upload("", 0, { abortSignal: signal, conditions: noneMatch });
            return "there" as const;
          }),
          {
            BlobAlreadyExists: "there",
            ConditionNotMet: "there",
            // Only a blob that is there can be leased.
            LeaseIdMissing: "there",
            ContainerNotFound: "homeless",
          } as const,
        );
      if ((await putBlob()) === "there") return;
      const made = call(`Create Container ${container}`, options, async ({ signal }) => {
        await home.create({ abortSignal: signal });
      });
      await withOutcomes(made, { ContainerAlreadyExists: undefined });
      await putBlob();
    },

    view(options) {
      const view = call(`Get Blob Properties ${where}`, options, async ({ signal }) => {
        const answer = await blob.getProperties({ abortSignal: signal });
        return {
          kind: "found" as const,
          dateMs: dateMsOf(answer),
          lastModifiedMs: answer.lastModified?.getTime() ?? 0,
          etag: unquoted(answer.etag),
          leaseState: (answer.leaseState ?? "available") satisfies LeaseState,
          metadata: metadataOf(answer.metadata),
        };
      });
      return withOutcomes(view, { BlobNotFound: missing, ContainerNotFound: missing });
    },

    acquire: (leaseId, durationS, options) =>
      call(`Acquire Lease ${where}`, options, async ({ signal }) => {
        const lease = blob.getBlobLeaseClient(leaseId);
        await lease.acquireLease(durationS, conditional(signal, options?.ifMatch));
      }),

    renew: (leaseId, options) =>
      call(`Renew Lease ${where}`, options, async ({ signal }) => {
        await blob.getBlobLeaseClient(leaseId).renewLease({ abortSignal: signal });
      }),

    release: (leaseId, options) =>
      call(`Release Lease ${where}`, options, async ({ signal }) => {
        await blob.getBlobLeaseClient(leaseId).releaseLease({ abortSignal: signal });
      }),

    breakNow: (options) =>
      call(`Break Lease ${where}`, options, async ({ signal }) => {
        await blob.getBlobLeaseClient().breakLease(0, conditional(signal, options?.ifMatch));
      }),

    writeRecord: (leaseId, metadata, options) =>
      call(`Set Blob Metadata ${where}`, options, async ({ signal }) => {
        const { abortSignal, conditions } = conditional(signal, options?.ifMatch);
        const given = { abortSignal, conditions: { ...conditions, leaseId } };
        return { etag: unquoted((await blob.setMetadata(metadataOf(metadata), given)).etag) };
      }),

    readContent(options) {
      const read = downloadStream(blob, `Get Blob ${where}`, options ?? {}).then(async (answer) => {
        const pieces: Uint8Array[] = [];
        for await (const piece of answer.body) pieces.push(piece);
        const { etag, metadata } = answer.properties;
        return { kind: "found" as const, body: new Uint8Array(Buffer.concat(pieces)), etag, metadata };
      });
      return withOutcomes(read, { BlobNotFound: missing, ContainerNotFound: missing });
    },

    writeContent(leaseId, body, write) {
      const bytes = byteLengthOf(body);
      const run = async ({ signal }: { signal: AbortSignal }) => {
        const answer = await blob.upload(body, bytes, {
          abortSignal: signal,
          conditions: { ...ifMatchOf(write.ifMatch), leaseId },
          blobHTTPHeaders: { blobContentType: write.contentType ?? "application/octet-stream" },
          metadata: metadataOf(write.metadata),
        });
        return { etag: unquoted(answer.etag) };
      };
      return call(`Put Blob ${where}`, write, run, bytes);
    },
  };
}
