import { decodeToldFailure } from "../../model/failureRecord.ts";
import { parseFailure, parseOtherCode, parseTried, type runBlobs } from "../../model/runBlobs.ts";
import type { ListedBlob } from "../../storage/ports.ts";
import type { Lists } from "../notes.ts";
import type { Seen, SeenFailure, ShardGroup } from "../seen.ts";
import { type PageBudget, takePages } from "../term.ts";

/** Failure records, and the notes of attempts beside them: which are listed, and what they tell. */

/** What the steps of one poll share. */
export interface Poll {
  readonly at: ReturnType<typeof runBlobs>;
  readonly pages: PageBudget;
  /** Lists within the budget: whoever calls has taken the first page out of it. */
  list(
    prefix: string,
    options: { readonly metadata: boolean; readonly firstPage?: boolean },
  ): Promise<{ readonly blobs: readonly ListedBlob[]; readonly more: boolean }>;
}

/** All failure records on one page while they fit there; from then on those of the shards that were listed. */
export async function listFailures(
  { at, pages: budget, list }: Poll,
  { manyFailures, failuresFrom }: Lists,
  groups: readonly ShardGroup[],
): Promise<{
  readonly blobs: readonly ListedBlob[];
  readonly turn: Pick<Lists, "manyFailures" | "failuresFrom">;
}> {
  // One page was taken out of the budget by whoever called.
  let pages = 1;
  if (!manyFailures) {
    const { blobs, more } = await list(at.failures, { metadata: true, firstPage: true });
    if (!more) return { blobs, turn: { manyFailures, failuresFrom } };
    pages = 0;
  }
  const prefixes = [...at.taskFailures, ...groups.map(({ shard, digits }) => at.failuresNear(shard, digits))];
  // More prefixes than pages take turns.
  pages += takePages(budget, prefixes.length - pages);
  const { turn, next } = inTurn(prefixes, failuresFrom, pages);
  const listed = await Promise.all(turn.map((prefix) => list(prefix, { metadata: true })));
  const blobs = listed.flatMap((some) => some.blobs);
  return { blobs, turn: { manyFailures: true, failuresFrom: next } };
}

/** So many items from an index on, and where the next turn begins; after the last item comes the first. */
export function inTurn<T>(items: readonly T[], index: number, count: number) {
  const from = items.length === 0 ? 0 : index % items.length;
  return { turn: [...items.slice(from), ...items.slice(0, from)].slice(0, count), next: from + count };
}

/** Records of ended sends, attempts that threw, and instances with other code. */
export function toldBy(
  blobs: readonly ListedBlob[],
): Pick<Seen, "failures" | "tried"> & Required<Pick<Seen, "otherCode">> {
  return {
    failures: blobs.flatMap((blob) => seenFailure(blob, parseFailure(blob.name))),
    tried: blobs.flatMap((blob) =>
      seenFailure(blob, parseTried(blob.name)).map((one) => ({ ...one, atMs: blob.lastModifiedMs })),
    ),
    otherCode: blobs.flatMap(({ name, metadata, lastModifiedMs }) => {
      const other = parseOtherCode(name);
      const { needed, theirs } = metadata;
      return other === undefined || needed === undefined
        ? []
        : [{ ...other, needed, theirs, atMs: lastModifiedMs }];
    }),
  };
}

const seenFailure = ({ metadata }: ListedBlob, parsed: ReturnType<typeof parseFailure>): SeenFailure[] =>
  parsed === undefined ? [] : [{ ...parsed, ...decodeToldFailure(metadata) }];
