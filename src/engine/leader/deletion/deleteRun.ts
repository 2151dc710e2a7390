import { closedBlob } from "../../model/closedRun.ts";
import { decodeJson, unlessCorrupt } from "../../model/decode.ts";
import { limits } from "../../model/limits.ts";
import { logEvents } from "../../model/log.ts";
import type { Marker } from "../../model/marker.ts";
import { specSchema } from "../../model/run.ts";
import { resultBlobs, runBlobs, specBlob } from "../../model/runBlobs.ts";
import { type ListedMarker, type PageBudget, type Term, takePages } from "../term.ts";

/** What a deletion needs of a term. */
export type DeletingTerm = Pick<Term, "storage" | "names" | "log" | "leader">;

/** Executes a marker that asks for a deletion; one of the expiry that is outdated only loses its marker. */
export async function deleteAsked(
  term: DeletingTerm,
  marker: Marker,
  listed: ListedMarker,
  pages: PageBudget,
): Promise<"deleted" | "more"> {
  if ((await beginDeletion(term, marker, listed.id)) === "begun")
    return deleteRun(term, listed, marker, pages);
  const { storage, names, leader } = term;
  leader.assertLeading();
  await storage.blobs.remove(names.active, listed.id, { ifMatch: listed.etag, signal: leader.lost });
  return "deleted";
}

/**
 * Begins a deletion that was asked for. One of the expiry deletes the state first, under the ETag of the state whose
 * age was judged: it is outdated where a retry that it did not see has begun since (rule *deletions*).
 */
async function beginDeletion(
  { storage: { blobs }, names: { runs }, leader }: DeletingTerm,
  { by, uid, judged }: Marker,
  id: string,
): Promise<"begun" | "outdated"> {
  if (by !== "expiry") return "begun";
  const name = runBlobs(id, uid).state;
  const ifJudged = { ifMatch: judged ?? "", signal: leader.lost };
  leader.assertLeading();
  if (judged !== undefined && (await blobs.remove(runs, name, ifJudged)) !== "conflict") return "begun";
  // Missing where there never was one, or where an earlier slice of this deletion removed it.
  const { kind } = await blobs.head(runs, name, { signal: leader.lost });
  return kind === "missing" ? "begun" : "outdated";
}

/**
 * Deletes what belongs to one uid: its blobs, then the spec under the ETag that it was read with, the marker last.
 * A slice at a time, so that a large run's deletion keeps no other run waiting; whoever leads next continues it.
 *
 * Not promised: that nothing appears afterwards. A worker that was at work may still write under the uid; nobody
 * reads it, and the account's lifecycle rule takes it.
 */
async function deleteRun(
  term: DeletingTerm,
  { id, etag }: ListedMarker,
  { uid, by, who }: Marker,
  pages: PageBudget,
): Promise<"deleted" | "more"> {
  const { storage, names, leader } = term;
  const whole =
    (await deleteUnder(term, names.runs, runBlobs(id, uid).root, pages)) &&
    (await deleteUnder(term, names.results, resultBlobs(id, uid).root, pages));
  if (!whole || !(await deleteSpec(term, id, uid))) return "more";
  leader.assertLeading();
  const ends = { ifMatch: etag, signal: leader.lost };
  if ((await storage.blobs.remove(names.active, id, ends)) === "removed")
    term.log(logEvents.runDeleted({ run: id, uid, term: leader.term, by: by ?? who }));
  return "deleted";
}

/** Deletes one slice; true if nothing was left of it. */
async function deleteUnder(
  { storage: { blobs }, leader }: DeletingTerm,
  container: string,
  prefix: string,
  pages: PageBudget,
): Promise<boolean> {
  const { lost: signal } = leader;
  let cursor: string | undefined;
  // An empty page may not be the last: it is passed, as from the beginning it would come again.
  do {
    if (takePages(pages, 1) === 0) return false;
    const page = await blobs.list(container, prefix, { pageSize: limits.deletesPerPoll, cursor, signal });
    leader.assertLeading();
    const names = page.blobs.map((blob) => blob.name);
    if (names.length > 0) {
      await blobs.removeMany(container, names, { signal });
      return page.cursor === undefined;
    }
    cursor = page.cursor;
  } while (cursor !== undefined);
  return true;
}

/**
 * True if no spec of this uid is left. The summary of the run is removed before it. A spec that does not decode belongs to
 * whoever has the marker.
 */
async function deleteSpec(
  { storage: { blobs }, names: { runs }, leader }: DeletingTerm,
  id: string,
  uid: string,
): Promise<boolean> {
  const name = specBlob(id);
  const found = await blobs.read(runs, name, { signal: leader.lost });
  if (found.kind === "missing") return true;
  const spec = await unlessCorrupt(() => decodeJson(specSchema, found.body, name));
  if (spec !== undefined && spec.uid !== uid) return true;
  leader.assertLeading();
  const { etag, lastModifiedMs } = found.properties;
  await blobs.remove(runs, closedBlob(id, lastModifiedMs), { signal: leader.lost });
  leader.assertLeading();
  const removed = await blobs.remove(runs, name, { ifMatch: etag, signal: leader.lost });
  return removed !== "conflict";
}
