import { type Client, clientLimits } from "../client.ts";
import { failures } from "../failures.ts";
import { durations } from "../inspection/durations.ts";
import { packMap } from "../inspection/packMap.ts";
import { timeline } from "../inspection/timeline.ts";
import { findManifest } from "../result.ts";
import { status } from "../status.ts";
import { readPreview } from "./preview.ts";
import { reportPage } from "./reportPage.ts";

/**
 * A run as one HTML file that needs no script, no network and no style sheet. Throws `InputError` for an unknown run.
 *
 * Not promised: that its parts are of the same moment while the run is still open.
 */
export async function report(client: Client, id: string): Promise<string> {
  const view = await status(client, id);
  const generation = view.result?.generation;
  const manifest = generation === undefined ? undefined : await findManifest(client, id, { generation });
  const [map, times, terms, failed, preview] = await Promise.all([
    packMap(client, id),
    durations(client, id),
    timeline(client, id),
    failures(client, id, { max: clientLimits.failuresShown }),
    manifest && readPreview(client, manifest),
  ]);
  return reportPage({ view, map, durations: times, timeline: terms, failures: failed, manifest, preview });
}
