import { StorageError } from "../../model/errors.ts";
import { logEvents } from "../../model/log.ts";
import { decodeMarker } from "../../model/marker.ts";
import { runIdPattern } from "../../model/names.ts";
import type { ListedBlob } from "../../storage/ports.ts";
import type { CoordinatorPorts, ListedMarker, Term } from "../term.ts";

/** True if a leader has something to do for any run: what makes a term worth claiming. */
export async function anyRunToLead(
  { storage, names }: Pick<CoordinatorPorts, "storage" | "names">,
  signal?: AbortSignal,
): Promise<boolean> {
  let cursor: string | undefined;
  do {
    // A page may be empty and still not be the last one.
    const page = await storage.blobs.list(names.active, "", { metadata: true, cursor, signal });
    if (page.blobs.some((marker) => isMarker(marker) && !rests(marker))) return true;
    cursor = page.cursor;
  } while (cursor !== undefined);
  return false;
}

/** Only a stranger, or a forged message to an older version, makes a blob here whose name is no run's id. */
const isMarker = ({ name }: ListedBlob): boolean => runIdPattern.test(name);

/** Whether a marker says that its run rests. One that does not decode is for a leader to deal with. */
export function rests({ name, metadata }: Pick<ListedBlob, "name" | "metadata">): boolean {
  try {
    const { want, command, rests: under } = decodeMarker(metadata, name);
    return want === "paused" && under === command;
  } catch {
    return false;
  }
}

/**
 * Lists the markers, without those of runs at rest and without blobs that are none. Storage that is busy for a while
 * costs a loop, not the term; the lease decides about the term.
 */
export async function listMarkers(
  term: Term,
): Promise<{ readonly markers: readonly ListedMarker[]; readonly pages: number } | "unreachable"> {
  const { storage, names, clock, leader } = term;
  const found: ListedBlob[] = [];
  let cursor: string | undefined;
  let nowMs = 0;
  let pages = 0;
  try {
    do {
      leader.assertLeading();
      const page = await storage.blobs.list(names.active, "", {
        metadata: true,
        cursor,
        signal: leader.lost,
      });
      for (const blob of page.blobs) {
        if (!isMarker(blob)) tellStray(term, blob);
        else if (!rests(blob)) found.push(blob);
      }
      cursor = page.cursor;
      nowMs = page.dateMs;
      pages += 1;
    } while (cursor !== undefined);
  } catch (error) {
    if (!(error instanceof StorageError) || error.kind !== "busy") throw error;
    if (term.backoff.add({ id: "*", etag: "" }, clock.monotonicMs()))
      term.log(logEvents.runSkipped({ run: "*", uid: "", code: error.storageCode, message: error.message }));
    await clock.sleep(1_000, leader.signal);
    return "unreachable";
  }
  return { markers: found.map(({ name, etag, metadata }) => ({ id: name, etag, metadata, nowMs })), pages };
}

function tellStray({ log, strays, leader }: Term, blob: ListedBlob): void {
  const name = blob.name.slice(0, 80);
  if (!strays.has(name)) log(logEvents.strayMarker({ name, term: leader.term }));
  strays.add(name);
}
