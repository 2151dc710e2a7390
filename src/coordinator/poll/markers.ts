import { StorageError } from "../../model/errors.ts";
import { logEvents } from "../../model/log.ts";
import { decodeMarker } from "../../model/marker.ts";
import { runIdPattern } from "../../model/names.ts";
import { pagesOf } from "../../storage/callSteps.ts";
import type { ListedBlob } from "../../storage/ports.ts";
import type { CoordinatorPorts, ListedMarker, Term } from "../term.ts";

type MarkerPorts = Pick<CoordinatorPorts, "storage" | "names">;

const markerPages = ({ storage, names }: MarkerPorts, signal?: AbortSignal) =>
  pagesOf(storage.blobs, names.active, "", { metadata: true, signal });

/** True if a leader has something to do for any run: what makes a term worth claiming. */
export async function anyRunToLead(ports: MarkerPorts, signal?: AbortSignal): Promise<boolean> {
  for await (const { blobs } of markerPages(ports, signal))
    if (blobs.some((marker) => isMarker(marker) && !rests(marker))) return true;
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
): Promise<
  | { readonly markers: readonly ListedMarker[]; readonly pages: number; readonly nowMs: number }
  | "unreachable"
> {
  const { clock, leader } = term;
  const found: ListedBlob[] = [];
  let [nowMs, pages] = [0, 0];
  try {
    leader.assertLeading();
    for await (const page of markerPages(term, leader.lost)) {
      leader.assertLeading();
      for (const blob of page.blobs) {
        if (!isMarker(blob)) tellStray(term, blob);
        else if (!rests(blob)) found.push(blob);
      }
      nowMs = page.dateMs;
      pages += 1;
    }
  } catch (error) {
    if (!(error instanceof StorageError) || error.kind !== "busy") throw error;
    if (term.backoff.add({ id: "*", etag: "" }, clock.monotonicMs()))
      term.log(logEvents.runSkipped({ run: "*", uid: "", code: error.storageCode, message: error.message }));
    await clock.sleep(1_000, leader.signal);
    return "unreachable";
  }
  const listed = ({ name, etag, metadata, lastModifiedMs }: ListedBlob): ListedMarker => ({
    ...{ id: name, etag, metadata, nowMs, writtenMs: lastModifiedMs },
  });
  return { markers: found.map(listed), pages, nowMs };
}

function tellStray({ log, strays, leader }: Term, blob: ListedBlob): void {
  const name = blob.name.slice(0, 80);
  if (!strays.has(name)) log(logEvents.strayMarker({ name, term: leader.term }));
  strays.add(name);
}
