import { createDefaultHttpClient, createHttpHeaders, createPipelineRequest } from "@azure/core-rest-pipeline";
import type { HttpOperationResponse, IHttpClient, WebResource } from "@azure/storage-blob";
import type { BillingClass } from "../../model/calls.ts";
import type { CallMeter } from "../ports.ts";
import { keepListText } from "./azureList.ts";

/**
 * The HTTP client below both SDKs: counts every request it sends, repeats included, by billing class, and
 * keeps the text of a list for whoever reads it (`listText.ts`). Connections are kept alive and shared.
 *
 * The SDKs take a client only in the shape of their older core library, so a request is translated back; the parts
 * of that shape which they read are `status`, `headers.toJson`, `request` and the bodies.
 */
export function countingHttpClient(
  meter: CallMeter,
  classOf: (method: string, url: URL) => BillingClass,
): IHttpClient {
  return {
    async sendRequest(web: WebResource): Promise<HttpOperationResponse> {
      if (web.abortSignal?.aborted !== true) {
        const url = new URL(web.url);
        meter.count(classOf(web.method, url));
        if (url.searchParams.get("comp") === "batch") countDeletes(meter, web.body);
      }
      const { headers, ...response } = await defaultClient.sendRequest(pipelineRequestOf(web));
      const compatible = {
        ...keepListText(response),
        request: web,
        headers: { toJson: headers.toJSON.bind(headers) },
      };
      return compatible as unknown as HttpOperationResponse;
    },
  };
}

/** Each request within a batch is billed as if it were sent alone (azure.microsoft.com/updates/batchapiforblob). */
function countDeletes(meter: CallMeter, batch: unknown): void {
  for (const _ of String(batch).matchAll(/^DELETE \//gm)) meter.count("delete");
}

const defaultClient = createDefaultHttpClient();

type PipelineOptions = Parameters<typeof createPipelineRequest>[0];

function pipelineRequestOf(web: WebResource) {
  const { url, method, body, timeout, requestId, abortSignal, streamResponseStatusCodes, agent } = web;
  const headers = createHttpHeaders(web.headers.toJson({ preserveCase: true }));
  // Whether plain http is allowed was decided by the SDK before it came here; the emulator speaks nothing else.
  const allowInsecureConnection = true;
  const given = {
    url,
    method,
    headers,
    body,
    timeout,
    requestId,
    abortSignal,
    streamResponseStatusCodes,
    agent,
  };
  return createPipelineRequest({ ...given, allowInsecureConnection } as PipelineOptions);
}

/**
 * How Blob Storage bills a request (azure.microsoft.com/pricing/details/storage/blobs, operations by class, and
 * learn.microsoft.com/azure/storage/blobs/map-rest-apis-transaction-categories, where a batch is `other`).
 */
export function blobBillingClass(method: string, url: URL): BillingClass {
  const operation = url.searchParams.get("comp");
  switch (method) {
    case "PUT":
      return operation === "lease" || operation === "metadata" || operation === "properties"
        ? "other"
        : "write";
    case "GET":
      if (operation === "list") return "list";
      return operation === null ? "read" : "other";
    case "DELETE":
      return "delete";
    default:
      return "other";
  }
}
