import * as z from "zod";
import { idSchema, wireVersion } from "./decode.ts";
import { CorruptDataError, NewerVersionError } from "./errors.ts";

/**
 * The marker of an active run: what is wanted of it, all in the metadata of an empty blob, so that one list call
 * brings every run's agenda. Clients read, modify and write it with If-Match; each write raises `command`.
 */
export const wants = ["run", "paused", "cancelled", "delete"] as const;
export type Want = (typeof wants)[number];

const number = z.coerce.number().int().nonnegative();

const markerSchema = z.object({
  v: z.coerce.number().int().positive(),
  uid: idSchema,
  want: z.enum(wants),
  generation: z.coerce.number().int().positive(),
  cap: z.coerce.number().int().positive(),
  /** Grows with each pause and resume. */
  turn: number,
  /** Grows with each write of the marker. */
  command: number,
  /** With `cancelled`: the run finishes with what is done. */
  keep: z.literal("1").optional(),
  /** How a retry by other code begins: `recompute` all packs under a new plan, or `mix` with what is there. */
  redo: z.enum(["recompute", "mix"]).optional(),
  /** With `redo`: the identity of the code that is to compute. */
  code: z.string().min(1).optional(),
  /** The command under which the leader found nothing more to do while the run is paused: nobody has to lead for it. */
  rests: number.optional(),
  /** Set where no person asked for it: an expiry must not undo a retry that came meanwhile. */
  by: z.literal("expiry").optional(),
  /** ETag of the state that an expiry judged; absent where there was none. Only that state is deleted. */
  judged: z.string().optional(),
});
export type Marker = Omit<z.infer<typeof markerSchema>, "v">;

export const encodeMarker = (marker: Marker): Record<string, string> => ({
  v: String(wireVersion),
  uid: marker.uid,
  want: marker.want,
  generation: String(marker.generation),
  cap: String(marker.cap),
  turn: String(marker.turn),
  command: String(marker.command),
  ...(marker.keep === undefined ? {} : { keep: marker.keep }),
  ...(marker.redo === undefined ? {} : { redo: marker.redo }),
  ...(marker.code === undefined ? {} : { code: marker.code }),
  ...(marker.rests === undefined ? {} : { rests: String(marker.rests) }),
  ...(marker.by === undefined ? {} : { by: marker.by }),
  ...(marker.judged === undefined ? {} : { judged: marker.judged }),
});

/** Throws `NewerVersionError`, or `CorruptDataError` for metadata that is no marker's. */
export function decodeMarker(metadata: Readonly<Record<string, string>>, what: string): Marker {
  if (Number(metadata["v"]) > wireVersion) {
    throw new NewerVersionError("newer-version", `the marker of ${what} was written by a newer version`);
  }
  const decoded = markerSchema.safeParse(metadata);
  if (!decoded.success) throw new CorruptDataError("bad-marker", `the marker of ${what} does not decode`);
  const { v: _version, ...marker } = decoded.data;
  return marker;
}

/** Within a generation what is wanted only moves this way; everything else is refused at the client. */
export const wantMoves: Readonly<Record<Want, readonly Want[]>> = {
  run: ["run", "paused", "cancelled", "delete"],
  paused: ["paused", "run", "cancelled", "delete"],
  cancelled: ["cancelled", "delete"],
  delete: ["delete"],
};
