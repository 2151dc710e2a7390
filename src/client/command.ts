import { InputError, StorageError } from "../model/errors.ts";
import { encodeMarker, type Marker, type Want, wantMoves } from "../model/marker.ts";
import { parseRunId } from "../model/names.ts";
import { isFinal } from "../model/state.ts";
import type { Client } from "./client.ts";
import { clientLimits } from "./clientLimits.ts";
import { type Read, readMarker, readState, requireSpec } from "./runDocuments.ts";
import { checkCap } from "./runRequest.ts";
import { sendWakes } from "./sendWakes.ts";

/** What a client may ask of a run that is under way. Pause, resume and delete will join here. */
export type Change = { readonly kind: "cancel" } | { readonly kind: "cap"; readonly cap: number };

export interface Commanded {
  readonly run: string;
  readonly uid: string;
  /** The number of the command; the state answers it, see `status`. */
  readonly command: number;
  readonly want: Want;
  readonly cap: number;
  /** False when the wake queue could not be reached: a leader still sees the command with its next look. */
  readonly woken: boolean;
}

/**
 * Writes a command into the run's marker. It takes effect when the leader reads it, which `status` reports.
 *
 * Throws `InputError`: `unknown` for a run that is not there, and `conflict`: `too-late` for a finished run,
 * `not-accepted` for one whose submit broke off, `being-deleted`, or `not-allowed` by the table of moves.
 */
export async function command(client: Client, id: string, change: Change): Promise<Commanded> {
  parseRunId(id);
  if (change.kind === "cap") checkCap(change.cap);
  for (let tried = 0; tried < clientLimits.markerTries; tried += 1) {
    const marker = await readOpenMarker(client, id);
    const next = changed(id, marker.value, change);
    const written = await client.storage.blobs.setMetadata(client.names.active, id, encodeMarker(next), {
      ifMatch: marker.etag,
    });
    if (written.kind === "replaced") {
      const { uid, command, want, cap } = next;
      return { run: id, uid, command, want, cap, woken: await sendWakes(client, change.kind) };
    }
    await client.clock.sleep(client.random.number() * clientLimits.markerRetryMs);
  }
  throw new StorageError("busy", "", undefined, `too many commands for ${id} at once; try again`);
}

/** The marker of a run that can still be commanded. */
async function readOpenMarker(client: Client, id: string): Promise<Read<Marker>> {
  const marker = await readMarker(client, id);
  const uid = marker?.value.uid ?? (await requireSpec(client, id)).value.uid;
  const state = (await readState(client, id, uid))?.value;
  if (marker?.value.want === "delete") {
    throw new InputError("conflict", "being-deleted", `run ${id} is being deleted`);
  }
  // The marker of a finished run stays until its clean-up; only a higher generation asks for new work.
  if (state !== undefined && isFinal(state.phase) && (marker?.value.generation ?? 0) <= state.generation) {
    throw new InputError("conflict", "too-late", `run ${id} is ${state.phase} already`);
  }
  if (marker !== undefined) return marker;
  throw new InputError(
    "conflict",
    "not-accepted",
    `the submit of ${id} broke off; submit it again with the same id and request`,
  );
}

function changed(id: string, marker: Marker, change: Change): Marker {
  const want = change.kind === "cancel" ? "cancelled" : marker.want;
  if (!wantMoves[marker.want].includes(want)) {
    throw new InputError("conflict", "not-allowed", `run ${id} is ${marker.want} and cannot become ${want}`);
  }
  const cap = change.kind === "cap" ? change.cap : marker.cap;
  return { ...marker, want, cap, command: marker.command + 1 };
}
