import * as z from "zod";
import { type Change, command } from "../../client/command.ts";
import { runs } from "../../client/runs.ts";
import { status } from "../../client/status.ts";
import { submit } from "../../client/submit.ts";
import { InputError } from "../../model/errors.ts";
import { toleranceSchema } from "../../model/run.ts";
import { type ApiHandler, type ApiRequest, fresh, readBody, routeParam } from "./apiRequest.ts";

/** `runs` and `runs/{id}`: submit, list, look, command. */

const submitSchema = z.strictObject({
  calculation: z.string(),
  params: z.record(z.string(), z.unknown()).optional(),
  id: z.string().optional(),
  packSize: z.number().optional(),
  cap: z.number().optional(),
  tolerate: toleranceSchema.optional(),
});

/** 202 with `Location`. The same id, or `Idempotency-Key`, and the same request is the same run. */
export const submitRun: ApiHandler = async (request, client) => {
  const body = await readBody(request, submitSchema);
  const submitted = await submit(client, { ...body, id: idOf(request, body.id) });
  const { pathname } = new URL(request.url);
  return fresh(submitted, 202, { location: `${pathname.replace(/\/$/, "")}/${submitted.run}` });
};

export const listRuns: ApiHandler = async (_request, client) => fresh({ runs: await runs(client) });

export const getRun: ApiHandler = async (request, client) =>
  fresh(await status(client, routeParam(request, "id")));

const changeSchema = z.strictObject({ cap: z.number().optional(), want: z.literal("cancelled").optional() });

/** 202: the leader executes the command; `GET runs/{id}` then shows its answer. */
export const changeRun: ApiHandler = async (request, client) => {
  const body = await readBody(request, changeSchema);
  return fresh(await command(client, routeParam(request, "id"), changeOf(body)), 202);
};

function changeOf({ cap, want }: z.infer<typeof changeSchema>): Change {
  if (cap !== undefined && want === undefined) return { kind: "cap", cap };
  if (want !== undefined && cap === undefined) return { kind: "cancel" };
  throw new InputError("invalid", "one-change", 'give either "cap" or "want"');
}

/** The header is a quoted string in the draft standard and a bare one with most clients. */
function idOf(request: ApiRequest, id: string | undefined): string | undefined {
  const key = request.headers
    .get("idempotency-key")
    ?.trim()
    .replace(/^"(.*)"$/, "$1");
  if (key === undefined || id === undefined || key === id) return key ?? id;
  throw new InputError("invalid", "two-ids", "id: the header Idempotency-Key gives another one", {
    field: "id",
  });
}
