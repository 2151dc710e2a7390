import * as z from "zod";
import { limits } from "./limits.ts";
import { type Range, sizeOf } from "./packs.ts";
import { rangeSchema } from "./run.ts";

/**
 * Chunks of a pack that later sends leave out, since sends at which they were computed ended their thread, their process or
 * their time (docs/ARCHITECTURE.md, rule 32). A thread tells its chunk as long as its process lives. A process that dies
 * leaves the sign that it had written before it came to a piece of the pack.
 */
export const leftOutSchema = rangeSchema.extend({ code: z.string(), message: z.string() });
export type LeftOut = z.infer<typeof leftOutSchema>;

/** So many that as many deaths as fail a pack find one chunk of the largest pack that may have gaps. */
export const piecesMax = Math.round(limits.gappedChunksMax ** (1 / limits.diedSendsMax));

/**
 * The pieces of a pack, ascending: at most `piecesMax` of the chunks in doubt, and whatever lies before and after them. Each
 * death narrows the doubt to one piece.
 */
export function piecesOf(pack: Range, doubt: Range = pack): Range[] {
  const size = Math.ceil(sizeOf(doubt) / piecesMax);
  const pieces: Range[] = [];
  if (pack.from < doubt.from) pieces.push({ from: pack.from, to: doubt.from });
  for (let { from } = doubt; from < doubt.to; from += size)
    pieces.push({ from, to: Math.min(from + size, doubt.to) });
  if (doubt.to < pack.to) pieces.push({ from: doubt.to, to: pack.to });
  return pieces;
}
