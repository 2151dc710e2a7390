import * as z from "zod";
import { clientLimits } from "../../engine/client/client.ts";
import { command, commandedSchema } from "../../engine/client/commands/command.ts";
import type { Change } from "../../engine/client/commands/decideCommand.ts";
import { costs, costsSchema } from "../../engine/client/costs.ts";
import { overview, overviewSchema } from "../../engine/client/overview.ts";
import { checkedDollars, invalid, requestSchema, wholeNumber } from "../../engine/client/runRequest.ts";
import { listPhases, runs, runsPageSchema } from "../../engine/client/runs.ts";
import { submittedSchema } from "../../engine/client/submit.ts";
import { InputError } from "../../engine/model/errors.ts";
import { limits } from "../../engine/model/limits.ts";
import { logEvents } from "../../engine/model/log.ts";
import { type ApiRequest, fresh, routeParam } from "./apiRequest.ts";
import { defineRoute, queryWhole } from "./route.ts";

/** Also of one whose documents this version cannot read. */
export const noRun = {
  ...{ 400: ["bad-run-id"], 404: ["unknown-run"] },
  409: ["unreadable", "needs-newer-version", "needs-older-version"],
};

/**
 * 202 with `Location`. The same request with the same id, or `Idempotency-Key`, is the same run. Of one that has ended without
 * a result the answer says how it is retried.
 */
export const submitRun = defineRoute({
  method: "POST",
  route: "runs",
  summary: "Submits a run. The same request with the same id, or `Idempotency-Key`, is the same run.",
  body: requestSchema,
  header: "Idempotency-Key",
  status: 202,
  answer: submittedSchema.extend({
    retry: z
      .string()
      .describe("Of a run that ended without a result: the request that retries it.")
      .exactOptional(),
  }),
  problems: {
    400: ["unknown-calculation", "params-too-large", "two-ids", "bad-reuse", "bad-accept-code", "bad-tags"],
    409: [...noRun[409], "id-taken", "being-deleted"],
  },
  async handler(request, { actor, clock }, { submit, log }) {
    const { body } = request;
    const startedMs = clock.monotonicMs();
    const submitted = await submit({ ...body, id: idOf(request, body.id) }, { actor });
    const { run, uid, created } = submitted;
    const ms = Math.round(clock.monotonicMs() - startedMs);
    if (created) log(logEvents.runSubmitted({ run, uid, by: actor, ms }));
    const { pathname } = new URL(request.url);
    const location = `${pathname.replace(/\/$/, "")}/${run}`;
    const ended = submitted.phase === "failed" || submitted.phase === "cancelled";
    return fresh({ ...submitted, ...(ended && { retry: `POST ${location}/retry` }) }, 202, { location });
  },
});

/** Which runs are meant; each parameter narrows the others down. */
const filters = {
  calculation: z.string().optional(),
  tag: z
    .string()
    .describe("Tags that a run has, with commas: `team=risk,date=2026-11-23`.")
    .transform((text) => text.split(","))
    .optional(),
  since: z
    .string()
    .describe(
      "Submitted since: `yesterday`, `2026-11-23`, a time by ISO 8601 (UTC without a zone), or so long ago, `30d`.",
    )
    .optional(),
  prefix: z.string().describe("How the id begins.").optional(),
};

export const listRuns = defineRoute({
  method: "GET",
  route: "runs",
  summary: "Active runs, then ended ones a page at a time, newest first.",
  query: {
    limit: queryWhole(clientLimits.runsListedMax).describe(
      "Active runs on this page at most, and after the last of them so many ended ones; 50 by default.",
    ),
    cursor: z.string().describe("Of the page before.").optional(),
    phase: z.enum(listPhases).describe("`active` is every phase that is not final.").optional(),
    ...filters,
  },
  answer: runsPageSchema,
  problems: { 400: ["bad-cursor", "bad-tag", "bad-since"] },
  handler: async ({ query }, client) => fresh(await runs(client, query)),
});

export const getOverview = defineRoute({
  method: "GET",
  route: "overview",
  summary: "What became of the runs since a time, what failed first, and of each calculation's runs before.",
  query: filters,
  answer: overviewSchema,
  problems: { 400: ["bad-tag", "bad-since"] },
  handler: async ({ query }, client) => fresh(await overview(client, query)),
});

export const getCosts = defineRoute({
  method: "GET",
  route: "costs",
  summary: "What runs have cost until now, storage and compute, summed for each value of a tag. An estimate.",
  query: { by: z.string().describe("The key of the tag.").optional(), ...filters },
  answer: costsSchema,
  problems: { 400: ["bad-by", "bad-tag", "bad-since"] },
  handler: async ({ query }, client) => fresh(await costs(client, query)),
});

const changeSchema = z.strictObject({
  cap: wholeNumber(limits.capMax).describe("Packs in flight at most.").optional(),
  maxCost: checkedDollars.describe("Dollars at most, alone or with `cap`.").optional(),
  want: z.enum(["run", "paused", "cancelled"]).optional(),
  keep: z.boolean().describe("With `cancelled`: finish with the packs that are done.").optional(),
});

/** 202: the leader will execute the command; `GET runs/{id}` then shows its answer. */
const commanded = { status: 202, answer: commandedSchema } as const;

export const changeRun = defineRoute({
  method: "PATCH",
  route: "runs/{id}",
  summary:
    "Pauses, resumes or cancels a run, or sets its cap or max cost. Its status shows when a leader has done it.",
  body: changeSchema,
  ...commanded,
  problems: {
    ...noRun,
    400: [...noRun[400], "one-change", "bad-keep"],
    409: [...noRun[409], "too-late", "not-accepted", "not-allowed", "being-deleted"],
  },
  handler: async (request, client) =>
    fresh(await command(client, routeParam(request, "id"), changeOf(request.body)), 202),
});

const retrySchema = z.strictObject({
  generation: z
    .int()
    .min(2)
    .describe(
      "The generation that the retry begins, 2 for the first one. With it a repeated request begins it once.",
    )
    .optional(),
});

export const retryRun = defineRoute({
  method: "POST",
  route: "runs/{id}/retry",
  summary: "Computes what an ended run lacks and folds it into a result of the next generation.",
  body: retrySchema,
  ...commanded,
  problems: {
    ...noRun,
    409: [
      ...noRun[409],
      ...["not-accepted", "being-deleted", "nothing-to-retry", "still-working"],
      ...["wrong-generation", "other-code", "inputs-changed", "plan-lost"],
    ],
  },
  handler: async (request, client) =>
    fresh(await command(client, routeParam(request, "id"), { kind: "retry", ...request.body }), 202),
});

export const deleteRun = defineRoute({
  method: "DELETE",
  route: "runs/{id}",
  summary: "Deletes the run. It is deleted when its status is not found any more.",
  ...commanded,
  problems: { ...noRun, 409: [...noRun[409], "being-deleted"] },
  handler: async (request, client) =>
    fresh(await command(client, routeParam(request, "id"), { kind: "delete" }), 202),
});

const kindOf = { run: "resume", paused: "pause" } as const;

function changeOf({ cap, maxCost, want, keep }: z.infer<typeof changeSchema>): Change {
  if (keep !== undefined && want !== "cancelled") {
    throw invalid("keep", 'only allowed with "want": "cancelled"', "bad-keep");
  }
  const bounds = cap !== undefined || maxCost !== undefined;
  if (bounds && want === undefined) return { kind: "cap", cap, maxCost };
  if (want !== undefined && !bounds) {
    return want === "cancelled" ? { kind: "cancel", keep: keep === true } : { kind: kindOf[want] };
  }
  throw new InputError("invalid", "one-change", 'give either "want", or "cap" and "maxCost" or one of them');
}

/** The id in the body or the header, which is quoted in the draft standard and bare in most clients. */
function idOf(request: Pick<ApiRequest, "headers">, id: string | undefined): string | undefined {
  const key = request.headers
    .get("idempotency-key")
    ?.trim()
    .replace(/^"(.*)"$/, "$1");
  if (key === undefined || id === undefined || key === id) return key ?? id;
  throw invalid("id", "differs from the header Idempotency-Key", "two-ids");
}
