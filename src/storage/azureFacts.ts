import type { BlobServiceClient } from "@azure/storage-blob";
import { StorageError } from "../model/errors.ts";
import type { ServiceFacts } from "./aboutPort.ts";
import { azureCalls } from "./azureCalls.ts";

const call = azureCalls("blob");

/** What the service says of itself and of the account, as far as the identity may ask. */
export function azureFacts(service: BlobServiceClient): () => Promise<ServiceFacts> {
  return async () => {
    try {
      const answer = await call("Get Blob Service Properties", undefined, ({ signal }) =>
        service.getProperties({ abortSignal: signal }),
      );
      const { enabled = false, days = 0 } = answer.deleteRetentionPolicy ?? {};
      const { headers } = answer._response;
      return {
        dateMs: Date.parse(headers.get("date") ?? ""),
        server: headers.get("server") ?? "",
        softDeleteDays: enabled ? days : 0,
      };
    } catch (error) {
      if (error instanceof StorageError && error.kind === "denied") return { server: "" };
      throw error;
    }
  };
}

/** Whether the account keeps versions of blobs, which only an answer about a blob tells; undefined where it is not there. */
export function azureVersioned(
  service: BlobServiceClient,
): (container: string, name: string) => Promise<boolean | undefined> {
  return async (container, name) => {
    try {
      const blob = service.getContainerClient(container).getBlobClient(name);
      const answer = await call(`Get Blob Properties ${container}/${name}`, undefined, ({ signal }) =>
        blob.getProperties({ abortSignal: signal }),
      );
      return answer.versionId !== undefined;
    } catch (error) {
      if (error instanceof StorageError && error.kind !== "busy") return undefined;
      throw error;
    }
  };
}
