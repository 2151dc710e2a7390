import * as z from "zod";
import {
  countText,
  decodeValue,
  dollarText,
  idSchema,
  numberText,
  positiveText,
  sha256Pattern,
  versioned,
} from "./decode.ts";
import { actorSchema } from "./labels.ts";
import { versions, withVersion } from "./versions.ts";

/**
 * The marker of an active run: what its user wants, in the metadata of an empty blob, so that one list call reads all
 * markers. Clients read, modify and write it with If-Match; each write raises `command`.
 */
export const wantSchema = z.enum(["run", "paused", "cancelled", "delete"]);
export type Want = z.infer<typeof wantSchema>;

const markerSchema = z.object({
  v: z.literal(versions.marker),
  uid: idSchema,
  /** SHA-256 of the spec that was submitted: no other is led or computed. */
  spec: z.string().regex(sha256Pattern).optional(),
  want: wantSchema,
  generation: positiveText,
  cap: positiveText,
  /** The max cost. Absent: the app's default, as its first leader has it. Names of metadata are in lower case. */
  dollars: dollarText.optional(),
  /** Grows with each pause and resume. */
  turn: countText,
  /** Grows with each write of the marker. */
  command: countText,
  /** Who gave the last command, percent-encoded, since metadata are ASCII. */
  who: z.string().transform(decodeActor).pipe(actorSchema).optional(),
  /** With `cancelled`: the run finishes with the packs that are done. */
  keep: z.literal("1").optional(),
  /** The command under which the leader found nothing more to do for a run that is paused or at its max cost: nobody has to lead for it. */
  rests: countText.optional(),
  /** With `rests`: until then, in ms of storage's time. A deadline passes during a pause too. */
  until: numberText.optional(),
  /** Set if no person asked for the deletion: an expiry must not undo a retry made meanwhile. */
  by: z.literal("expiry").optional(),
  /** ETag of the state that expiry examined; absent without a state. Only that state is deleted. */
  judged: z.string().optional(),
});
versioned("marker", markerSchema);
export type Marker = Omit<z.infer<typeof markerSchema>, "v">;

export function encodeMarker(marker: Marker): Record<string, string> {
  const fields: Readonly<Record<string, unknown>> = { ...marker, v: versions.marker };
  const given = Object.keys(markerSchema.shape).filter((name) => fields[name] !== undefined);
  const encoded = marker.who === undefined ? {} : { who: encodeURIComponent(marker.who) };
  return { ...Object.fromEntries(given.map((name) => [name, String(fields[name])])), ...encoded };
}

function decodeActor(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Throws `OtherVersionError`, or `CorruptDataError` for metadata that is not a marker's. */
export function decodeMarker(metadata: Readonly<Record<string, string>>, what: string): Marker {
  const { v: _version, ...marker } = decodeValue(
    markerSchema,
    withVersion(metadata),
    `the marker of ${what}`,
  );
  return marker;
}

/** The moves that clients allow within a generation. */
export const wantMoves: Readonly<Record<Want, readonly Want[]>> = {
  run: ["run", "paused", "cancelled", "delete"],
  paused: ["paused", "run", "cancelled", "delete"],
  cancelled: ["cancelled", "delete"],
  delete: ["delete"],
};
