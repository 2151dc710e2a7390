import { StorageError } from "../../model/errors.ts";
import { encodeMarker, type Marker, type Want } from "../../model/marker.ts";
import { parseRunId } from "../../model/names.ts";
import type { Client } from "../client.ts";
import { clientLimits } from "../clientLimits.ts";
import { inPlaces } from "../places.ts";
import { checkCap } from "../runRequest.ts";
import { sendWakes } from "../submit.ts";
import { readCommandFacts, readDeletionFacts } from "./facts.ts";
import { beingDeleted, type Change, nextMarker } from "./nextMarker.ts";

export interface Commanded {
  readonly run: string;
  readonly uid: string;
  readonly kind: Change["kind"];
  /** The number of the command; the state answers it, see `awaitAnswer`. 0 where nothing was ever commanded. */
  readonly command: number;
  /** False where the run was told so before; then `command` is the last one it was given. */
  readonly changed: boolean;
  readonly want: Want;
  /** With `cancelled`: the run finishes with what is done. */
  readonly keep: boolean;
  readonly generation: number;
  readonly cap: number;
  /** False when the wake queue could not be reached: a leader still sees the command with its next look. */
  readonly woken: boolean;
}

/**
 * Tells the leader what is wanted of a run, by its marker: pause, resume, cancel, cap, retry or delete. It takes
 * effect when a leader reads it. A command that asks for what is wanted already is accepted without a write.
 *
 * Throws `InputError`: `unknown-run`; `bad-cap`; and `conflict` with `too-late` for a run that has ended,
 * `not-accepted` for one whose submit broke off, `not-allowed` by the table of moves, `being-deleted`,
 * `nothing-to-retry` for a complete run, `still-working` for the retry of one that has not ended, and `other-code` for
 * a run that was computed by other code than the instances have.
 */
export async function command(client: Client, id: string, change: Change): Promise<Commanded> {
  parseRunId(id);
  if (change.kind === "cap") checkCap(change.cap);
  let leaving = false;
  for (let tried = 0; tried < clientLimits.markerTries; tried += 1) {
    const facts =
      change.kind === "delete"
        ? await readDeletionFacts(client, id)
        : await readCommandFacts(client, id, change.kind === "retry");
    const next = nextMarker(id, change, facts);
    leaving = next.kind === "leaving";
    if (next.kind !== "leaving") {
      const changed = next.kind === "write";
      if (!changed || (await write(client, id, next.marker, facts.markerEtag))) {
        const { uid, command, want, generation, cap } = next.marker;
        const keep = next.marker.keep === "1";
        // Also for a marker that stands: whoever wrote it may have died before its wakes.
        const woken = await sendWakes(client, change.kind);
        return { run: id, uid, kind: change.kind, command, changed, want, keep, generation, cap, woken };
      }
    }
    await client.clock.sleep(client.random.number() * clientLimits.markerRetryMs);
  }
  if (leaving) throw beingDeleted(id);
  throw new StorageError("busy", "", undefined, `too many commands for ${id} at once; try again`);
}

/** False where another write came first, or an earlier try of this one that got no answer. */
async function write(client: Client, id: string, marker: Marker, ifMatch: string | undefined) {
  const { storage, names } = client;
  const metadata = encodeMarker(marker);
  if (ifMatch !== undefined) {
    return (await storage.blobs.setMetadata(names.active, id, metadata, { ifMatch })).kind === "replaced";
  }
  const created = await inPlaces(client, () => storage.blobs.create(names.active, id, "", { metadata }));
  return created.kind === "created";
}
