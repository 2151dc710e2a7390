import type { Client } from "../client/client.ts";
import { durations } from "../client/inspection/durations.ts";
import { type PackMap, packMapOf } from "../client/inspection/packMap.ts";
import { timeline } from "../client/inspection/timeline.ts";
import { peekQueue } from "../client/queues.ts";
import { report } from "../client/report/report.ts";
import { findManifest } from "../client/result.ts";
import { readState, requireSpec } from "../client/runDocuments.ts";
import { readStatus } from "../client/status.ts";
import { type ApiHandler, fresh, polled, queryWhole, routeParam, weakTag } from "./apiRequest.ts";

/** The view of a run. Between two answers with one ETag only time has passed, which a page counts itself. */
export const getRun: ApiHandler = async (request, client) => {
  const { view, version } = await readStatus(client, routeParam(request, "id"));
  return polled(request, weakTag(version), () => view);
};

/** Maps kept: a page polls one run, and few pages are open at once. */
const mapsKept = 16;
/** By the state that they show, newest last. */
const maps = new WeakMap<Client, Map<string, PackMap>>();

/** The packs of a run in cells: two reads, and no work while the state is the same. */
export const getMap: ApiHandler = async (request, client) => {
  const spec = await requireSpec(client, routeParam(request, "id"));
  const { run, uid } = spec.value;
  const state = await readState(client, run, uid);
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
  return fresh(await findManifest(client, routeParam(request, "id"), { generation }));
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
