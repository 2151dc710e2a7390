import { inputs, uploadBytes, uploadedSchema, uploadsSchema } from "../../engine/client/inputs.ts";
import { InputError, StorageError } from "../../engine/model/errors.ts";
import { fresh, readBytes, routeParam } from "./apiRequest.ts";
import { defineRoute, queryFlag } from "./route.ts";

/** Bytes of one upload, which the host holds in memory beside other work. `leasefold upload` has no such limit. */
const uploadBytesMax = 8 * 1024 * 1024;

/** The uploaded folders and files at the top of the container of inputs. */
export const getUploads = defineRoute({
  method: "GET",
  route: "uploads",
  summary: "Uploaded folders and files. A list call for 5,000 files.",
  answer: uploadsSchema,
  handler: async (_request, client) => fresh({ uploads: await inputs(client) }),
});

/**
 * 201 with the source to give a calculation. The same bytes again are no change; other bytes under a name in use are refused with 409
 * but for `?replace=true`. Deployed apps may not write inputs, and answer 403.
 */
export const postUpload = defineRoute({
  method: "POST",
  route: "uploads/{prefix}/{path}",
  summary: "Uploads one file of at most 8 MiB, and answers the source that calculations take.",
  query: { replace: queryFlag.describe("Replaces other content; else that is a problem.") },
  takes: "application/octet-stream",
  status: 201,
  answer: uploadedSchema,
  problems: { 400: ["bad-name"], 403: ["uploads-denied"], 409: ["other-content"] },
  async handler(request, client) {
    const { replace } = request.query;
    const path = `${routeParam(request, "prefix")}/${routeParam(request, "path")}`;
    const body = await readBytes(request, "application/octet-stream", { uploadBytesMax });
    const uploaded = await uploadBytes(client, path, body, { replace }).catch((error: unknown) => {
      if (!(error instanceof StorageError) || error.kind !== "denied") throw error;
      const rest = 'use "leasefold upload", or this page by "leasefold ui", with your own rights';
      throw new InputError(
        "conflict",
        "uploads-denied",
        `this app may read inputs and not write them: ${rest}`,
      );
    });
    return fresh(uploaded, 201);
  },
});
