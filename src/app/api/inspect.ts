import * as z from "zod";
import { awaitRun } from "../../engine/client/awaitRun.ts";
import { type Client, defined } from "../../engine/client/client.ts";
import { failures, failuresSchema } from "../../engine/client/failures.ts";
import { durations, durationsSchema } from "../../engine/client/inspection/durations.ts";
import { type PackMap, packMapOf, packMapSchema } from "../../engine/client/inspection/packMap.ts";
import { timeline, timelineSchema } from "../../engine/client/inspection/timeline.ts";
import { logs, logsSchema } from "../../engine/client/logs.ts";
import { parseSample, verificationSchema, verify } from "../../engine/client/questions/verify.ts";
import { readShown } from "../../engine/client/retried.ts";
import { requireSpec } from "../../engine/client/runDocuments.ts";
import { runViewSchema } from "../../engine/client/runView.ts";
import { calculationLimits } from "../../engine/model/limits.ts";
import { fresh, polled, routeParam, weakTag } from "./apiRequest.ts";
import { report } from "./report.ts";
import { noResult } from "./result.ts";
import { defineRoute, queryFlag, queryWhole, waitSMax } from "./route.ts";
import { noRun } from "./runs.ts";

const shownMax = 10_000;
const max = queryWhole(shownMax);

/**
 * The view of a run. Between two answers with one ETag only time has passed, which a page counts itself. With `?wait=` the
 * answer comes when the run enters another phase, at once if it has ended, or after so many seconds.
 */
export const getRun = defineRoute({
  method: "GET",
  route: "runs/{id}",
  summary: "Status of a run: phase, progress, rate, remaining time, cost.",
  query: {
    wait: queryWhole(waitSMax, 0).describe(
      "Answers when the run enters another phase, has ended, or after so many seconds. Leads meanwhile what nobody has led.",
    ),
  },
  answer: runViewSchema,
  cached: true,
  problems: noRun,
  async handler(request, client, { lead }) {
    const waitMs = (request.query.wait ?? 0) * 1_000;
    const { view, version } = await awaitRun(client, routeParam(request, "id"), waitMs, lead);
    return polled(request, weakTag(version), () => view);
  },
});

/** Maps kept: a page polls one run, and few pages are open at once. */
const mapsKept = 16;
/** By the state that they show, newest last. */
const maps = new WeakMap<Client["storage"], Map<string, PackMap>>();

/** Two reads, of an ended run a HEAD as well, and no work while the state is the same. */
export const getMap = defineRoute({
  method: "GET",
  route: "runs/{id}/map",
  summary: "The packs of a run, counted in cells.",
  answer: packMapSchema,
  cached: true,
  problems: noRun,
  async handler(request, client) {
    const spec = await requireSpec(client, routeParam(request, "id"));
    const { run, uid } = spec.value;
    const state = await readShown(client, { run, uid });
    const version = `${uid} ${state?.etag ?? "-"}`;
    return polled(request, weakTag(version), () => {
      const kept = maps.get(client.storage) ?? new Map<string, PackMap>();
      const map = kept.get(version) ?? packMapOf(spec.value, state?.value);
      kept.delete(version);
      maps.set(client.storage, kept.set(version, map));
      for (const oldest of kept.keys()) if (kept.size > mapsKept) kept.delete(oldest);
      return map;
    });
  },
});

export const getDurations = defineRoute({
  method: "GET",
  route: "runs/{id}/durations",
  summary: "Quantiles, histogram and slowest packs; at most 20 list calls.",
  answer: durationsSchema,
  problems: noRun,
  handler: async (request, client) => fresh(await durations(client, routeParam(request, "id"))),
});

export const getTimeline = defineRoute({
  method: "GET",
  route: "runs/{id}/timeline",
  summary: "Packs ended over time, and the terms that led the run.",
  answer: timelineSchema,
  problems: noRun,
  handler: async (request, client) => fresh(await timeline(client, routeParam(request, "id"))),
});

/** For a download: a page of this origin could reach the function key. */
export const getReport = defineRoute({
  method: "GET",
  route: "runs/{id}/report",
  summary: "The run as one HTML file that needs no script.",
  answer: "text/html",
  problems: noRun,
  async handler(request, client) {
    const id = routeParam(request, "id");
    const body = await report(client, id);
    const headers = {
      "content-type": "text/html; charset=utf-8",
      "content-disposition": `attachment; filename="${id}.html"`,
      "cache-control": "no-store",
    };
    return { status: 200, headers, body };
  },
});

export const getFailures = defineRoute({
  method: "GET",
  route: "runs/{id}/failures",
  summary: "Failed work, grouped by error as well, and attempts that others follow.",
  query: {
    max: max.describe("Failures at most; 1,000 by default."),
    inputs: queryFlag.describe("With the inputs of failed chunks."),
  },
  answer: failuresSchema,
  problems: noRun,
  handler: async (request, client) =>
    fresh(await failures(client, routeParam(request, "id"), defined(request.query))),
});

export const getLogs = defineRoute({
  method: "GET",
  route: "runs/{id}/logs",
  summary: "What its code printed by `console`, with chunk, attempt and instance.",
  query: {
    chunk: queryWhole(calculationLimits.chunksMax, 0).describe("Only of this chunk."),
    max: max.describe("Lines at most, the newest; 1,000 by default."),
    since: z.iso.datetime().describe("`until` of the answer before.").optional(),
  },
  answer: logsSchema,
  problems: { ...noRun, 400: [...noRun[400], "bad-chunk"] },
  handler: async (request, client) => fresh(await logs(client, routeParam(request, "id"), request.query)),
});

/**
 * Recomputes a sample of a finished run's packs; packs without an answer in time are reported as such. Larger samples are for
 * the CLI, which can wait longer.
 */
export const verifyRun = defineRoute({
  method: "POST",
  route: "runs/{id}/verify",
  summary: "Computes a sample again and compares hashes; `allEqual` sums it up.",
  query: {
    sample: z
      .string()
      .describe("A number of packs, at most 1,000, or a share such as `1%`, the default.")
      .optional(),
    wait: queryWhole(waitSMax).describe("Gives up after so many seconds without an answer."),
  },
  answer: verificationSchema,
  problems: { ...noResult, 400: [...noRun[400], "bad-sample"] },
  async handler(request, client) {
    const { sample, wait } = request.query;
    const found = await verify(client, routeParam(request, "id"), {
      sample: sample === undefined ? undefined : parseSample(sample),
      waitMs: wait === undefined ? undefined : wait * 1_000,
      signal: AbortSignal.timeout(waitSMax * 1_000),
    });
    return fresh(found);
  },
});
