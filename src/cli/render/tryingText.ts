import { type Range, rangeText, sizeOf } from "../../model/packs.ts";

/** `chunk 17: attempt 2 of 5: boom (mine.ts:3); still tried`. The message names the chunk, or `chunks` or `work` does. */
export function tryingText(one: {
  /** As in failure records: `00003/00000042`, `node/1/00003`, `plan` or `finish`. */
  readonly work: string;
  readonly message: string;
  readonly attempts: number;
  readonly attemptsMax?: number | undefined;
  readonly chunks?: Range | undefined;
}): string {
  const [, told, rest] = /^(chunks? [\d–]+|plan|finish): (.*)$/s.exec(one.message) ?? [];
  const of = one.attemptsMax === undefined ? "" : ` of ${one.attemptsMax}`;
  return `${told ?? placeOf(one)}: attempt ${one.attempts}${of}: ${rest ?? one.message}; still tried`;
}

/** `chunk 17` or `chunks 10–19` where that is known, else `pack 42`; what is no pack by its own name. */
function placeOf({ work, chunks }: { readonly work: string; readonly chunks?: Range | undefined }): string {
  if (chunks !== undefined) return `${sizeOf(chunks) === 1 ? "chunk" : "chunks"} ${rangeText(chunks)}`;
  const [, pack] = /^\d+\/(\d+)$/.exec(work) ?? [];
  return pack === undefined ? work : `pack ${Number(pack)}`;
}
