import * as z from "zod";
import { command } from "../../client/commands/command.ts";
import type { Change } from "../../client/commands/decideCommand.ts";
import { runs, status } from "../../client/status.ts";
import { submit } from "../../client/submit.ts";
import { InputError } from "../../model/errors.ts";
import { logEvents } from "../../model/log.ts";
import { log } from "../logTo.ts";
import { type ApiHandler, type ApiRequest, fresh, readBody, routeParam } from "./apiRequest.ts";

/** `runs`, `runs/{id}` and `runs/{id}/retry`: submit, list, look, command. */

const submitSchema = z.strictObject({
  calculation: z.string(),
  params: z.record(z.string(), z.unknown()).optional(),
  id: z.string().optional(),
  packSize: z.number().optional(),
  cap: z.number().optional(),
  tolerate: z.unknown().optional(),
  packLimitMs: z.number().optional(),
  attempts: z.number().optional(),
  deadline: z.unknown().optional(),
});

/** 202 with `Location`. The same id, or `Idempotency-Key`, and the same request is the same run. */
export const submitRun: ApiHandler = async (request, client) => {
  const body = await readBody(request, submitSchema);
  const submitted = await submit(client, { ...body, id: idOf(request, body.id) });
  const { run, uid, created } = submitted;
  if (created) log(logEvents.runSubmitted({ run, uid }));
  const { pathname } = new URL(request.url);
  return fresh(submitted, 202, { location: `${pathname.replace(/\/$/, "")}/${run}` });
};

export const listRuns: ApiHandler = async (_request, client) => fresh({ runs: await runs(client) });

export const getRun: ApiHandler = async (request, client) =>
  fresh(await status(client, routeParam(request, "id")));

const changeSchema = z.strictObject({
  cap: z.number().optional(),
  want: z.enum(["run", "paused", "cancelled"]).optional(),
  /** With `cancelled`: finish with what is done. */
  keep: z.boolean().optional(),
});

/** 202: the leader executes the command; `GET runs/{id}` then shows its answer. */
export const changeRun: ApiHandler = async (request, client) => {
  const body = await readBody(request, changeSchema);
  return fresh(await command(client, routeParam(request, "id"), changeOf(body)), 202);
};

const retrySchema = z.strictObject({ redo: z.enum(["recompute", "mix"]).optional() });

/**
 * 202: computes what a run that has ended did not, and folds it into a result of the next generation. 409 `other-code`
 * where this instance has other code than computed it, unless the body says how: `{"redo": "recompute"}` or `"mix"`.
 */
export const retryRun: ApiHandler = async (request, client) => {
  const hasBody = request.headers.get("content-type") !== null;
  const { redo } = hasBody ? await readBody(request, retrySchema) : {};
  return fresh(await command(client, routeParam(request, "id"), { kind: "retry", redo }), 202);
};

/** 202: the run is gone when `GET runs/{id}` answers 404. */
export const deleteRun: ApiHandler = async (request, client) =>
  fresh(await command(client, routeParam(request, "id"), { kind: "delete" }), 202);

const kindOf = { run: "resume", paused: "pause" } as const;

function changeOf({ cap, want, keep }: z.infer<typeof changeSchema>): Change {
  if (keep !== undefined && want !== "cancelled") {
    throw new InputError("invalid", "bad-keep", 'keep: only with "want": "cancelled"', { field: "keep" });
  }
  if (cap !== undefined && want === undefined) return { kind: "cap", cap };
  if (want !== undefined && cap === undefined) {
    return want === "cancelled" ? { kind: "cancel", keep: keep === true } : { kind: kindOf[want] };
  }
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
