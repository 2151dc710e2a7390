import { buffer } from "node:stream/consumers";
import { baseContentType } from "../model/resultType.ts";
import type { Manifest } from "../model/run.ts";
import type { Client } from "./client.ts";
import { failures } from "./failures.ts";
import { durations } from "./inspection/durations.ts";
import { packMap } from "./inspection/packMap.ts";
import { timeline } from "./inspection/timeline.ts";
import { findManifest, openResult } from "./result.ts";
import { status } from "./status.ts";

/** What the report of a run shows. */
export type ReportFacts = Awaited<ReturnType<typeof reportFacts>>;

/**
 * Reads all of a run that a report shows. Throws `InputError` for an unknown run.
 *
 * Not promised: that its parts are of the same moment while the run is still open.
 */
export async function reportFacts(client: Client, id: string) {
  const view = await status(client, id);
  const generation = view.result?.generation;
  const manifest = generation === undefined ? undefined : await findManifest(client, id, { generation });
  const [map, times, terms, failed, preview] = await Promise.all([
    packMap(client, id),
    durations(client, id),
    timeline(client, id),
    failures(client, id),
    manifest && readPreview(client, manifest),
  ]);
  return { view, map, durations: times, timeline: terms, failures: failed, manifest, preview };
}

/** Larger results are not shown: a page of a text of megabytes opens slowly, and a picture is shown whole or not. */
const textBytesMax = 256 * 1024;
const pictureBytesMax = 4 * 1024 * 1024;

/** Reads a result that a preview shows, with its hash checked; undefined for a larger one, and for other types. */
async function readPreview(client: Client, manifest: Manifest): Promise<Uint8Array | undefined> {
  const { contentType, bytes: size } = manifest;
  const type = baseContentType(contentType);
  const isText = type.startsWith("text/") || /^application\/(x-)?(json|ndjson|jsonl)$/.test(type);
  const most = type === "image/png" ? pictureBytesMax : isText ? textBytesMax : 0;
  if (size > most) return undefined;
  return buffer((await openResult(client, manifest)).body);
}
