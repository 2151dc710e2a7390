import { Agent as HttpAgent } from "node:http";
import { Agent as HttpsAgent } from "node:https";
import { createDefaultHttpClient, createHttpHeaders, createPipelineRequest } from "@azure/core-rest-pipeline";
import type { HttpOperationResponse, IHttpClient, WebResource } from "@azure/storage-blob";
import type { BillingClass } from "../engine/model/calls.ts";
import type { CallMeter } from "../engine/storage/calls.ts";
import { keepListText } from "./azureList.ts";
import { socketOptions } from "./shortLived.ts";

/**
 * The HTTP client below both SDKs: counts every request, retries included, by billing class, and keeps the text of a
 * list for `azureList.ts`. Connections are kept alive and shared. With a `version` it asks the service for that version of its API,
 * which only a request can be given that signs no header.
 *
 * The SDKs take a client only in the shape of their older core library, so a request is translated back. Of that
 * shape they read `status`, `headers.toJson`, `request` and the bodies.
 */
export function countingHttpClient(
  meter: CallMeter,
  classOf: (method: string, operation: string | undefined) => BillingClass,
  version?: string,
): IHttpClient {
  return {
    async sendRequest(web: WebResource): Promise<HttpOperationResponse> {
      if (web.abortSignal?.aborted !== true) {
        // The request makes enough URL objects of its own.
        const operation = /\?(?:.*&)?comp=([^&]*)/.exec(web.url)?.[1];
        meter.count(classOf(web.method, operation));
        if (operation === "batch") countDeletes(meter, web.body);
      }
      const { headers, ...response } = await defaultClient.sendRequest(pipelineRequestOf(web, version));
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

/** `HTTPS_PROXY` and `NO_PROXY` hold, as in the SDK's own client; plain http is an emulator of this machine. */
const agents = {
  http: new HttpAgent(socketOptions()),
  https: new HttpsAgent({ ...socketOptions(), proxyEnv: process.env }),
};

type RequestOptions = Parameters<typeof createPipelineRequest>[0];

function pipelineRequestOf(web: WebResource, version: string | undefined) {
  const { url, method, body, timeout, requestId, abortSignal, streamResponseStatusCodes } = web;
  const headers = createHttpHeaders(web.headers.toJson({ preserveCase: true }));
  if (version !== undefined) headers.set("x-ms-version", version);
  // The SDK has already decided whether plain http is allowed; the emulator speaks nothing else.
  const allowInsecureConnection = true;
  const request = createPipelineRequest({
    url,
    method,
    headers,
    body,
    timeout,
    requestId,
    abortSignal,
    streamResponseStatusCodes,
    allowInsecureConnection,
  } as RequestOptions);
  // `createPipelineRequest` drops it.
  request.agent = url.startsWith("https:") ? agents.https : agents.http;
  return request;
}

/**
 * How Blob Storage bills a request (azure.microsoft.com/pricing/details/storage/blobs, operations by class, and
 * learn.microsoft.com/azure/storage/blobs/map-rest-apis-transaction-categories, where a batch is `other`).
 */
export function blobBillingClass(method: string, operation: string | undefined): BillingClass {
  switch (method) {
    case "PUT":
      return operation === "lease" || operation === "metadata" || operation === "properties"
        ? "other"
        : "write";
    case "GET":
      if (operation === "list") return "list";
      return operation === undefined ? "read" : "other";
    case "DELETE":
      return "delete";
    default:
      return "other";
  }
}
