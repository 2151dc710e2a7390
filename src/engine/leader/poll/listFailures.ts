import { decodeToldFailure } from "../../model/failureRecord.ts";
import { parseFailure, parseOtherCode, parseTried } from "../../model/runBlobs.ts";
import type { ListedBlob } from "../../storage/ports.ts";
import { takePages } from "../term.ts";
import type { Poll, Seen, SeenFailure, ShardGroup } from "./seen.ts";

/** Failure records, and the notes of attempts beside them: which are listed, and what they tell. */

/** All failure records on one page while they fit there; from then on those of the shards that were listed. */
export async function listFailures(
  { at, notes, pages: budget, list }: Poll,
  groups: readonly ShardGroup[],
): Promise<readonly ListedBlob[]> {
  // One page was taken out of the budget by whoever called.
  let pages = 1;
  if (!notes.manyFailures) {
    const { blobs, more } = await list(at.failures, { metadata: true, firstPage: true });
    if (!more) return blobs;
    notes.manyFailures = true;
    pages = 0;
  }
  const prefixes = [...at.taskFailures, ...groups.map(({ shard, digits }) => at.failuresNear(shard, digits))];
  // More prefixes than pages take turns.
  pages += takePages(budget, prefixes.length - pages);
  const { turn, next } = inTurn(prefixes, notes.failuresFrom, pages);
  notes.failuresFrom = next;
  const listed = await Promise.all(turn.map((prefix) => list(prefix, { metadata: true })));
  return listed.flatMap((one) => one.blobs);
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
    tried: blobs.flatMap((blob) => seenFailure(blob, parseTried(blob.name))),
    otherCode: blobs.flatMap(({ name, metadata, lastModifiedMs }) => {
      const other = parseOtherCode(name);
      const { wanted, theirs } = metadata;
      return other === undefined || wanted === undefined
        ? []
        : [{ ...other, wanted, theirs, atMs: lastModifiedMs }];
    }),
  };
}

const seenFailure = ({ metadata }: ListedBlob, parsed: ReturnType<typeof parseFailure>): SeenFailure[] =>
  parsed === undefined ? [] : [{ ...parsed, ...decodeToldFailure(metadata) }];
