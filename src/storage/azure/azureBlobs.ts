import type { BlobServiceClient, BlockBlobClient } from "@azure/storage-blob";
import type { BlobStore } from "../ports.ts";
import { removeInBatches } from "./azureBatch.ts";
import {
  azureCalls,
  byteLengthOf,
  createOutcomes,
  dateMsOf,
  ifMatchOf,
  metadataOf,
  noneMatch,
  propertiesOf,
  replacedBy,
} from "./azureCalls.ts";
import { azureList } from "./azureList.ts";
import { downloadStream } from "./azureStream.ts";
import { uploadBody } from "./azureUpload.ts";
import { withOutcomes } from "./storageErrors.ts";

const call = azureCalls("blob");

const missing = { kind: "missing" } as const;
const conflict = { kind: "conflict" } as const;

/** The blob port on the Azure SDK: one request per call, repeats by the SDK's policy aside. */
export function azureBlobs(service: BlobServiceClient): BlobStore {
  const blobOf = (container: string, name: string): BlockBlobClient =>
    service.getContainerClient(container).getBlockBlobClient(name);

  return {
    ...azureList(service),

    ensureContainer(container, options) {
      const made = call(`Create Container ${container}`, options, async ({ signal }) => {
        await service.getContainerClient(container).create({ abortSignal: signal });
        return "created" as const;
      });
      return withOutcomes(made, { ContainerAlreadyExists: "existed" as const });
    },

    create(container, name, body, write) {
      const bytes = byteLengthOf(body);
      const run = async ({ signal }: { signal: AbortSignal }) => {
        const answer = await blobOf(container, name).upload(body, bytes, {
          abortSignal: signal,
          conditions: noneMatch,
          blobHTTPHeaders: { blobContentType: write?.contentType ?? "application/octet-stream" },
          metadata: metadataOf(write?.metadata),
        });
        return { ...replacedBy(answer), kind: "created" as const };
      };
      return withOutcomes(call(`Put Blob ${container}/${name}`, write, run, bytes), createOutcomes);
    },

    replace(container, name, body, write) {
      const bytes = byteLengthOf(body);
      const run = async ({ signal }: { signal: AbortSignal }) =>
        replacedBy(
          await blobOf(container, name).upload(body, bytes, {
            abortSignal: signal,
            conditions: ifMatchOf(write.ifMatch),
            blobHTTPHeaders: { blobContentType: write.contentType ?? "application/octet-stream" },
            metadata: metadataOf(write.metadata),
          }),
        );
      const replaced = call(`Put Blob ${container}/${name}`, write, run, bytes);
      return withOutcomes(replaced, { ConditionNotMet: conflict, BlobNotFound: conflict });
    },

    upload: (container, name, body, write = {}) =>
      uploadBody(blobOf(container, name), `${container}/${name}`, body, write),

    read(container, name, options) {
      const what = `Get Blob ${container}/${name}`;
      const found = downloadStream(blobOf(container, name), what, options ?? {}).then(async (answer) => {
        const pieces: Uint8Array[] = [];
        for await (const piece of answer.body) pieces.push(piece);
        return { ...answer, body: new Uint8Array(Buffer.concat(pieces)) };
      });
      return withOutcomes(found, { BlobNotFound: missing });
    },

    stream(container, name, options) {
      const what = `Get Blob ${container}/${name}`;
      const found = downloadStream(blobOf(container, name), what, options ?? {});
      return withOutcomes<Awaited<typeof found>, typeof missing | typeof conflict>(found, {
        BlobNotFound: missing,
        ...(options?.ifMatch === undefined ? {} : { ConditionNotMet: conflict }),
      });
    },

    head(container, name, options) {
      const found = call(`Get Blob Properties ${container}/${name}`, options, async ({ signal }) => {
        const answer = await blobOf(container, name).getProperties({ abortSignal: signal });
        const properties = propertiesOf(answer, answer.contentLength ?? 0);
        return { kind: "found" as const, dateMs: dateMsOf(answer), properties };
      });
      return withOutcomes(found, { BlobNotFound: missing });
    },

    setMetadata(container, name, metadata, options) {
      const replaced = call(`Set Blob Metadata ${container}/${name}`, options, async ({ signal }) => {
        const conditions = ifMatchOf(options.ifMatch);
        const given = { abortSignal: signal, conditions };
        return replacedBy(await blobOf(container, name).setMetadata(metadataOf(metadata), given));
      });
      return withOutcomes(replaced, { ConditionNotMet: conflict, BlobNotFound: conflict });
    },

    remove(container, name, options) {
      const removed = call(`Delete Blob ${container}/${name}`, options, async ({ signal }) => {
        const conditions = options?.ifMatch === undefined ? {} : ifMatchOf(options.ifMatch);
        await blobOf(container, name).delete({ abortSignal: signal, conditions });
        return "removed" as const;
      });
      return withOutcomes<"removed", "missing" | "conflict">(removed, {
        BlobNotFound: "missing",
        ...(options?.ifMatch === undefined ? {} : { ConditionNotMet: "conflict" }),
      });
    },

    removeMany: (container, names, options) =>
      removeInBatches(service.getContainerClient(container), names, options),
  };
}
