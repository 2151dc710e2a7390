import { hash } from "node:crypto";
import { unlessUnreadable, wireVersion } from "../../model/decode.ts";
import { fillTemplates } from "../../model/dueTimes.ts";
import { decodeMarker, encodeMarker, wantMoves } from "../../model/marker.ts";
import { parseScheduledRun, scheduledRunId } from "../../model/names.ts";
import { specBlob } from "../../model/runBlobs.ts";
import type { Schedule } from "../../model/schedule.ts";
import { documentHash, requestHashOf } from "../../model/storedSpec.ts";
import type { ListedBlob } from "../../storage/ports.ts";
import { readSpec } from "../poll/poll.ts";
import type { Term } from "../term.ts";

/**
 * Spec, then the proof that the due time is still pending, then the marker. Before a run is deleted its due time is pending no
 * more, so whoever creates a spec after that finds other marks, and the run does not begin again.
 */
export async function submitDue(
  term: Term,
  schedule: Schedule,
  dueMs: number,
  { at, etag }: { readonly at: readonly [string, string]; readonly etag: string },
): Promise<"submitted" | "id-taken" | "later"> {
  const { storage, names, leader } = term;
  const { blobs } = storage;
  const run = scheduledRunId(schedule.name, dueMs);
  const signal = leader.lost;
  const { cap, ...work } = fillTemplates(schedule.request, dueMs, schedule.timeZone);
  let uid = hash("sha256", `${leader.termid} ${run}`).slice(0, 12);
  const spec = {
    v: wireVersion,
    run,
    uid,
    schedule: schedule.name,
    ...work,
    by: `schedule ${schedule.name}`,
  };
  const body = JSON.stringify({ ...spec, requestHash: requestHashOf(spec) });
  let sha256 = documentHash(body);
  leader.assertLeading();
  const write = { contentType: "application/json", signal };
  if ((await blobs.create(names.runs, specBlob(run), body, write)).kind === "existed") {
    const there = await unlessUnreadable(async () => (await readSpec(term, run)) ?? "gone");
    if (there === "gone") return "later";
    if (there?.spec.schedule !== schedule.name) return "id-taken";
    uid = there.spec.uid;
    sha256 = there.sha256;
  }
  const now = await blobs.head(...at, { signal });
  if (now.kind === "missing" || now.properties.etag !== etag) return "later";
  const metadata = encodeMarker({
    ...{ uid, spec: sha256, want: "run", generation: 1, cap, turn: 0, command: 0 },
  });
  leader.assertLeading();
  if ((await blobs.create(names.active, run, "", { metadata, signal })).kind === "created")
    return "submitted";
  const marker = await blobs.head(names.active, run, { signal });
  return marker.kind === "found" && marker.properties.metadata["uid"] === uid ? "submitted" : "later";
}

/** As a person would cancel them. One whose marker changed meanwhile is met by the next loop. */
export async function cancelRuns(
  { storage, names, leader }: Term,
  schedule: string,
  blobs: readonly ListedBlob[],
): Promise<void> {
  for (const { name, etag, metadata } of blobs) {
    if (parseScheduledRun(name)?.schedule !== schedule) continue;
    const marker = await unlessUnreadable(() => decodeMarker(metadata, name));
    if (marker === undefined || marker.want === "cancelled" || !wantMoves[marker.want].includes("cancelled"))
      continue;
    const next = encodeMarker({ ...marker, want: "cancelled", command: marker.command + 1 });
    leader.assertLeading();
    await storage.blobs.setMetadata(names.active, name, next, { ifMatch: etag, signal: leader.lost });
  }
}
