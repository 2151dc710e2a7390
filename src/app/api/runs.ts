import * as z from "zod";
import { command } from "../../engine/client/commands/command.ts";
import { type Change, redos } from "../../engine/client/commands/decideCommand.ts";
import { invalid, requestSchema } from "../../engine/client/runRequest.ts";
import { InputError } from "../../engine/model/errors.ts";
import { logEvents } from "../../engine/model/log.ts";
import { type ApiHandler, type ApiRequest, fresh, readBody, routeParam } from "./apiRequest.ts";

/**
 * 202 with `Location`. The same request with the same id, or `Idempotency-Key`, is the same run. Of one that has ended without
 * a result the answer says how it is retried.
 */
export const submitRun: ApiHandler = async (request, _client, { submit, log }) => {
  const body = await readBody(request, requestSchema);
  const submitted = await submit({ ...body, id: idOf(request, body.id) });
  const { run, uid, created } = submitted;
  if (created) log(logEvents.runSubmitted({ run, uid }));
  const { pathname } = new URL(request.url);
  const location = `${pathname.replace(/\/$/, "")}/${run}`;
  const ended = submitted.phase === "failed" || submitted.phase === "cancelled";
  return fresh({ ...submitted, ...(ended && { retry: `POST ${location}/retry` }) }, 202, { location });
};

const changeSchema = z.strictObject({
  cap: z.number().optional(),
  want: z.enum(["run", "paused", "cancelled"]).optional(),
  /** With `cancelled`: finish with the packs that are done. */
  keep: z.boolean().optional(),
});

/** 202: the leader will execute the command; `GET runs/{id}` then shows its answer. */
const commanded: (...given: Parameters<typeof command>) => ReturnType<ApiHandler> = async (...given) =>
  fresh(await command(...given), 202);

export const changeRun: ApiHandler = async (request, client) =>
  commanded(client, routeParam(request, "id"), changeOf(await readBody(request, changeSchema)));

const retrySchema = z.strictObject({
  redo: z.enum(redos).optional(),
  /** The generation that the retry begins: 2 for the first one. */
  generation: z.int().min(2).optional(),
});

/**
 * Computes what an ended run lacks and folds it into a result of the next generation. 409 `other-code` if this instance's
 * code differs from the run's, unless the body decides: `{"redo": "recompute"}` or `"mix"`. `"changed-inputs"` reads the inputs anew.
 */
export const retryRun: ApiHandler = async (request, client) => {
  const asked = await readBody(request, retrySchema);
  return commanded(client, routeParam(request, "id"), { kind: "retry", ...asked });
};

/** The run is deleted when `GET runs/{id}` answers 404. */
export const deleteRun: ApiHandler = async (request, client) =>
  commanded(client, routeParam(request, "id"), { kind: "delete" });

const kindOf = { run: "resume", paused: "pause" } as const;

function changeOf({ cap, want, keep }: z.infer<typeof changeSchema>): Change {
  if (keep !== undefined && want !== "cancelled") {
    throw invalid("keep", 'only allowed with "want": "cancelled"', "bad-keep");
  }
  if (cap !== undefined && want === undefined) return { kind: "cap", cap };
  if (want !== undefined && cap === undefined) {
    return want === "cancelled" ? { kind: "cancel", keep: keep === true } : { kind: kindOf[want] };
  }
  throw new InputError("invalid", "one-change", 'give either "cap" or "want"');
}

/** The id in the body or the header, which is quoted in the draft standard and bare in most clients. */
function idOf(request: ApiRequest, id: string | undefined): string | undefined {
  const key = request.headers
    .get("idempotency-key")
    ?.trim()
    .replace(/^"(.*)"$/, "$1");
  if (key === undefined || id === undefined || key === id) return key ?? id;
  throw invalid("id", "differs from the header Idempotency-Key", "two-ids");
}
