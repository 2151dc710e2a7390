import { hash } from "node:crypto";
import { unlessUnreadable } from "../../model/decode.ts";
import { encodeMarker } from "../../model/marker.ts";
import { scheduledRunId } from "../../model/names.ts";
import { nothingToReuse } from "../../model/reusable.ts";
import type { Spec } from "../../model/run.ts";
import { runBlobs, specBlob } from "../../model/runBlobs.ts";
import { requestAt, type Schedule } from "../../model/schedule.ts";
import { stateSchema } from "../../model/state.ts";
import { documentHash, requestHashOf } from "../../model/storedSpec.ts";
import { versions } from "../../model/versions.ts";
import { readDocument } from "../../storage/callSteps.ts";
import { readSpec } from "../poll/poll.ts";
import type { Term } from "../term.ts";

interface Due {
  readonly dueMs: number;
  /** The due time of the run before. */
  readonly last: number | undefined;
  /** The schedule's blob, as it was when it was found to be due. */
  readonly at: readonly [string, string];
  readonly etag: string;
  /** Why the due time has no run, unless it has one already. */
  readonly skip: "missed" | "overlap" | undefined;
}

/**
 * The create-only spec decides that a due time is run, whoever dies next. The marker follows only while the schedule has not
 * moved: before a run is deleted its schedule has moved on, so a spec that comes late does not begin it anew.
 *
 * The id of a due run is known in advance, so anybody who may submit can be there first. A spec that is found is ours only if it
 * has all the bytes that any leader writes for this due time: hence the uid is made of the schedule's ETag and not of the term.
 */
export async function submitDue(
  term: Term,
  schedule: Schedule,
  { dueMs, last, at, etag, skip }: Due,
): Promise<"submitted" | "missed" | "overlap" | "id-taken" | "later"> {
  const { storage, names, leader } = term;
  const { blobs } = storage;
  const { name } = schedule;
  const signal = leader.lost;
  const run = scheduledRunId(name, dueMs);
  const { cap, maxCost: dollars, reuse: reuses, ...work } = requestAt(schedule, dueMs);
  const uid = hash("sha256", `${etag} ${run}`).slice(0, 12);
  const bodyWith = (reuse: Spec["reuse"]): string => {
    const more = reuses && { reuse, keepPartials: true as const };
    const spec = { v: versions.spec, run, uid, schedule: name, ...work, ...more, by: `schedule ${name}` };
    return JSON.stringify({ ...spec, requestHash: requestHashOf(spec) });
  };
  const before = () => (reuses ? runBefore(term, name, last) : undefined);
  let sha256: string;
  const there = await unlessUnreadable(async () => (await readSpec(term, run)) ?? "none");
  if (there === "none") {
    if (skip !== undefined) return skip;
    const found = await before();
    const body = bodyWith(found?.hasPartials ? found.reuse : undefined);
    sha256 = documentHash(body);
    leader.assertLeading();
    const write = { contentType: "application/json", signal };
    if ((await blobs.create(names.runs, specBlob(run), body, write)).kind === "existed") return "later";
  } else {
    // What the run before had to give may have changed since.
    const ours = [undefined, (await before())?.reuse].map((reuse) => documentHash(bodyWith(reuse)));
    if (there === undefined || !ours.includes(there.sha256)) return "id-taken";
    sha256 = there.sha256;
    const state = await blobs.head(names.runs, runBlobs(run, uid).state, { signal });
    if (state.kind === "found") return "submitted";
  }
  const now = await blobs.head(...at, { signal });
  if (now.kind === "missing" || now.properties.etag !== etag) return "later";
  const metadata = encodeMarker({
    ...{ uid, spec: sha256, want: "run", generation: 1, cap, dollars, turn: 0, command: 0 },
  });
  leader.assertLeading();
  await blobs.create(names.active, run, "", { metadata, signal });
  return "submitted";
}

/** The run before, and whether it has anything to give; undefined if it is gone or cannot be read. */
async function runBefore(term: Term, schedule: string, last: number | undefined) {
  const { storage, names, leader } = term;
  const run = scheduledRunId(schedule, last ?? 0);
  return unlessUnreadable(async () => {
    const spec = (await readSpec(term, run))?.spec;
    if (spec?.schedule !== schedule) return undefined;
    const at = [names.runs, runBlobs(run, spec.uid).state] as const;
    const state = await readDocument(storage.blobs, at, stateSchema, { signal: leader.lost });
    const hasPartials = nothingToReuse(spec, state?.value) === undefined;
    return { reuse: { run, uid: spec.uid }, hasPartials };
  });
}
