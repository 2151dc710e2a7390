import type { BlobServiceClient, BlockBlobClient } from "@azure/storage-blob";
import type { BlobStore } from "../engine/storage/ports.ts";
import { withOutcomes } from "../engine/storage/storageErrors.ts";
import { removeInBatches } from "./azureBatch.ts";
import {
  azureCalls,
  conflict,
  createOutcomes,
  dateMsOf,
  ifMatchOf,
  matching,
  metadataOf,
  missing,
  noneMatch,
  propertiesOf,
  replacedBy,
  replaceOutcomes,
} from "./azureCalls.ts";
import { azureList } from "./azureList.ts";
import { downloadBody, downloadStream } from "./azureStream.ts";
import { putBlob, uploadBody } from "./azureUpload.ts";

const call = azureCalls("blob");

/** The blob port on the Azure SDK: one request per call, apart from retries by the SDK's policy. */
export function azureBlobs(service: BlobServiceClient): BlobStore {
  const blobOf = (container: string, name: string): BlockBlobClient =>
    service.getContainerClient(container).getBlockBlobClient(name);

  return {
    ...azureList(service),

    ensureContainer(container, options) {
      const created = call(`Create Container ${container}`, options, async (abortSignal) => {
        await service.getContainerClient(container).create({ abortSignal });
        return "created" as const;
      });
      return withOutcomes(created, { ContainerAlreadyExists: "existed" as const });
    },

    create(container, name, body, write = {}) {
      const put = putBlob(blobOf(container, name), body, write, noneMatch);
      const created = put.then((answer) => ({ ...answer, kind: "created" as const }));
      return withOutcomes(created, createOutcomes);
    },

    replace: (container, name, body, write) =>
      withOutcomes(putBlob(blobOf(container, name), body, write, matching(write.ifMatch)), replaceOutcomes),

    upload: (container, name, body, write = {}) => uploadBody(blobOf(container, name), body, write),

    read: (container, name, options) =>
      withOutcomes(downloadBody(blobOf(container, name), options), { BlobNotFound: missing }),

    stream(container, name, options = {}) {
      const found = downloadStream(blobOf(container, name), options);
      return withOutcomes<Awaited<typeof found>, typeof missing | typeof conflict>(found, {
        BlobNotFound: missing,
        ...(options.ifMatch === undefined ? {} : { ConditionNotMet: conflict }),
      });
    },

    head(container, name, options) {
      const found = call(`Get Blob Properties ${container}/${name}`, options, async (abortSignal) => {
        const answer = await blobOf(container, name).getProperties({ abortSignal });
        const properties = propertiesOf(answer, answer.contentLength ?? 0);
        return { kind: "found" as const, dateMs: dateMsOf(answer), properties };
      });
      return withOutcomes(found, { BlobNotFound: missing });
    },

    setMetadata(container, name, metadata, options) {
      const replaced = call(`Set Blob Metadata ${container}/${name}`, options, async (abortSignal) => {
        const given = { abortSignal, conditions: matching(options.ifMatch) };
        return replacedBy(await blobOf(container, name).setMetadata(metadataOf(metadata), given));
      });
      return withOutcomes(replaced, replaceOutcomes);
    },

    remove(container, name, options = {}) {
      const removed = call(`Delete Blob ${container}/${name}`, options, async (abortSignal) => {
        await blobOf(container, name).delete({ abortSignal, conditions: ifMatchOf(options.ifMatch) });
        return "removed" as const;
      });
      return withOutcomes<"removed", "missing" | "conflict">(removed, {
        BlobNotFound: "missing",
        ...(options.ifMatch === undefined ? {} : { ConditionNotMet: "conflict" }),
      });
    },

    removeMany: (container, names, options) =>
      removeInBatches(service.getContainerClient(container), names, options),
  };
}
