import { hash } from "node:crypto";
import { unlessUnreadable } from "../../model/decode.ts";
import { decodeMarker, encodeMarker, wantMoves } from "../../model/marker.ts";
import { parseScheduledRun, scheduledRunId } from "../../model/names.ts";
import { reusableOf } from "../../model/reusable.ts";
import type { Reuse } from "../../model/reuse.ts";
import { runBlobs, specBlob } from "../../model/runBlobs.ts";
import { requestAt, type Schedule } from "../../model/schedule.ts";
import { stateSchema } from "../../model/state.ts";
import { documentHash, requestHashOf } from "../../model/storedSpec.ts";
import { versions } from "../../model/versions.ts";
import { readDocument } from "../../storage/callSteps.ts";
import type { ListedBlob } from "../../storage/ports.ts";
import { readSpec } from "../poll/poll.ts";
import type { Term } from "../term.ts";

interface Submitting {
  /** The schedule's blob, with the marks that show the due time as pending. */
  readonly at: readonly [string, string];
  readonly etag: string;
  /** Due times that were submitted, oldest first. */
  readonly before: readonly number[];
}

/**
 * Spec, then the proof that the due time is still pending, then the marker. Before a run is deleted its due time is pending no
 * more, so whoever creates a spec after that finds other marks, and the run does not begin again.
 */
export async function submitDue(
  term: Term,
  schedule: Schedule,
  dueMs: number,
  { at, etag, before }: Submitting,
): Promise<"submitted" | "id-taken" | "later"> {
  const { storage, names, leader } = term;
  const { blobs } = storage;
  const run = scheduledRunId(schedule.name, dueMs);
  const signal = leader.lost;
  const { cap, reuse: reuses, ...work } = requestAt(schedule, dueMs);
  let reuse = reuses ? await reuseBefore(term, schedule.name, before) : undefined;
  let uid = hash("sha256", `${leader.termid} ${run}`).slice(0, 12);
  const spec = {
    v: versions.spec,
    run,
    uid,
    schedule: schedule.name,
    ...work,
    reuse,
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
    ({ uid, reuse } = there.spec);
    sha256 = there.sha256;
  }
  const now = await blobs.head(...at, { signal });
  if (now.kind === "missing" || now.properties.etag !== etag) return "later";
  const keeps = reuse?.keeps.join(",") || undefined;
  const metadata = encodeMarker({
    ...{ keeps, uid, spec: sha256, want: "run", generation: 1, cap, turn: 0, command: 0 },
  });
  leader.assertLeading();
  if ((await blobs.create(names.active, run, "", { metadata, signal })).kind === "created")
    return "submitted";
  const marker = await blobs.head(names.active, run, { signal });
  return marker.kind === "found" && marker.properties.metadata["uid"] === uid ? "submitted" : "later";
}

/** What the newest run has to give of those that have anything. One that cannot be read has nothing. */
async function reuseBefore(term: Term, schedule: string, before: readonly number[]): Promise<Reuse> {
  const { storage, names, leader } = term;
  for (const dueMs of before.toReversed()) {
    const run = scheduledRunId(schedule, dueMs);
    const found = await unlessUnreadable(async () => {
      const spec = (await readSpec(term, run))?.spec;
      if (spec?.schedule !== schedule) return undefined;
      const at = [names.runs, runBlobs(run, spec.uid).state] as const;
      const state = await readDocument(storage.blobs, at, stateSchema, { signal: leader.lost });
      return reusableOf(spec, state?.value);
    });
    if (typeof found === "object") return found;
  }
  return { keeps: [] };
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
