import type { Client } from "../../engine/client/client.ts";
import { planSchema } from "../../engine/client/estimate/planInThread.ts";
import { failures } from "../../engine/client/failures.ts";
import { durations } from "../../engine/client/inspection/durations.ts";
import { type PackMap, packMapOf } from "../../engine/client/inspection/packMap.ts";
import { timeline } from "../../engine/client/inspection/timeline.ts";
import { logs } from "../../engine/client/logs.ts";
import { parseSample, verify } from "../../engine/client/questions/verify.ts";
import { peekQueue } from "../../engine/client/queues.ts";
import { findResult } from "../../engine/client/result.ts";
import { readShown } from "../../engine/client/retried.ts";
import { requireSpec } from "../../engine/client/runDocuments.ts";
import { readStatus } from "../../engine/client/status.ts";
import { calculationLimits } from "../../engine/model/limits.ts";
import {
  type ApiAnswer,
  type ApiHandler,
  fresh,
  polled,
  queryWhole,
  readBody,
  routeParam,
  weakTag,
} from "./apiRequest.ts";
import { report } from "./report.ts";
import { newestHeaders } from "./result.ts";

/** Azure's front end ends a request after 230 s. */
const waitSMax = 200;
const waitPollMs = 1_000;

/**
 * The view of a run. Between two answers with one ETag only time has passed, which a page counts itself. With `?wait=` the
 * answer comes when the run enters another phase, at once if it has ended, or after so many seconds.
 */
export const getRun: ApiHandler = async (request, client) => {
  const { clock } = client;
  const id = routeParam(request, "id");
  const untilMs = clock.monotonicMs() + (queryWhole(request, "wait", waitSMax, 0) ?? 0) * 1_000;
  let shown = await readStatus(client, id);
  const { phase } = shown.view;
  for (;;) {
    const leftMs = untilMs - clock.monotonicMs();
    const { view, version } = shown;
    if (!view.active || view.phase !== phase || leftMs <= 0)
      return polled(request, weakTag(version), () => view);
    await clock.sleep(Math.min(waitPollMs, leftMs));
    shown = await readStatus(client, id);
  }
};

/** Maps kept: a page polls one run, and few pages are open at once. */
const mapsKept = 16;
/** By the state that they show, newest last. */
const maps = new WeakMap<Client, Map<string, PackMap>>();

/** The packs of a run in cells: two reads, of an ended run a HEAD as well, and no work while the state is the same. */
export const getMap: ApiHandler = async (request, client) => {
  const spec = await requireSpec(client, routeParam(request, "id"));
  const { run, uid } = spec.value;
  const state = await readShown(client, { run, uid });
  const version = `${uid} ${state?.etag ?? "-"}`;
  return polled(request, weakTag(version), () => {
    const kept = maps.get(client) ?? new Map<string, PackMap>();
    const map = kept.get(version) ?? packMapOf(spec.value, state?.value);
    kept.delete(version);
    maps.set(client, kept.set(version, map));
    for (const oldest of kept.keys()) if (kept.size > mapsKept) kept.delete(oldest);
    return map;
  });
};

export const getDurations: ApiHandler = async (request, client) =>
  fresh(await durations(client, routeParam(request, "id")));

export const getTimeline: ApiHandler = async (request, client) =>
  fresh(await timeline(client, routeParam(request, "id")));

/** What a result was made of; `?generation=n` for an older one. */
export const getManifest: ApiHandler = async (request, client) => {
  const generation = queryWhole(request, "generation", 999);
  const found = await findResult(client, routeParam(request, "id"), { generation });
  return fresh(found.manifest, 200, newestHeaders(found));
};

/** The first messages of a queue, `?n=` of them; nothing is dequeued. */
export const getQueue: ApiHandler = async (request, client) => {
  const n = queryWhole(request, "n", 32);
  return fresh(await peekQueue(client, routeParam(request, "name"), n));
};

/** The run as one HTML file, for a download: a page of this origin could reach the function key. */
export const getReport: ApiHandler = async (request, client) => {
  const id = routeParam(request, "id");
  const body = await report(client, id);
  const headers = {
    "content-type": "text/html; charset=utf-8",
    "content-disposition": `attachment; filename="${id}.html"`,
    "cache-control": "no-store",
  };
  return { status: 200, headers, body };
};

const shownMax = 10_000;

/** The failure records of a run, and failures that are still retried; `?max=` for more or fewer than a thousand. */
export const getFailures: ApiHandler = async (request, client) => {
  const max = queryWhole(request, "max", shownMax);
  return fresh(await failures(client, routeParam(request, "id"), max === undefined ? {} : { max }));
};

/** What the code of a run printed: `?chunk=` of one chunk, `?max=` lines at most. */
export const getLogs: ApiHandler = async (request, client) => {
  const chunk = queryWhole(request, "chunk", calculationLimits.chunksMax, 0);
  const max = queryWhole(request, "max", shownMax);
  return fresh(await logs(client, routeParam(request, "id"), { chunk, max }));
};

/** Size, duration and cost estimate of a run, before anything is paid. Stores nothing. */
export const planRun: ApiHandler = async (request, _client, { plan }) =>
  fresh(await plan(await readBody(request, planSchema)));

/** What an instance knows about itself. */
export interface InstanceFacts {
  readonly version: string;
  /** The commit of this build; undefined where it was built outside of a clone. */
  readonly commit?: string | undefined;
  readonly instance: string;
  /** Time since this instance last ticked, by its own clock; undefined before its first tick. */
  lastTickAgeMs(): number | undefined;
  /** Whether every request but a read is refused. */
  readOnly(): boolean;
}

/** Anonymous, so it reveals nothing else: a version would tell attackers which flaws to try. */
export const getHealth = (): ApiAnswer => fresh({ ok: true });

/** Makes no storage call, so it answers while storage is unavailable. */
export function getInstance({ lastTickAgeMs, readOnly, ...facts }: InstanceFacts): ApiAnswer {
  const { version, commit, instance } = facts;
  const ageMs = lastTickAgeMs();
  const lastTickAgeS = ageMs === undefined ? undefined : Math.round(ageMs) / 1000;
  return fresh({ version, commit, instance, readOnly: readOnly(), lastTickAgeS });
}

/**
 * Recomputes a sample of a finished run's packs (`?sample=1%25` or `?sample=20`) and answers how they compare; `allEqual`
 * sums it up, and packs without an answer in time are reported as such. Larger samples are for the CLI, which can wait longer.
 */
export const verifyRun: ApiHandler = async (request, client) => {
  const sample = request.query.get("sample");
  const waitS = queryWhole(request, "wait", waitSMax);
  const found = await verify(client, routeParam(request, "id"), {
    ...(sample === null ? {} : { sample: parseSample(sample) }),
    ...(waitS === undefined ? {} : { waitMs: waitS * 1_000 }),
    signal: AbortSignal.timeout(waitSMax * 1_000),
  });
  return fresh(found);
};
