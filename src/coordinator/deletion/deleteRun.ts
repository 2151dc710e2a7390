import { decodeJson } from "../../model/decode.ts";
import { CorruptDataError } from "../../model/errors.ts";
import { limits } from "../../model/limits.ts";
import { logEvents } from "../../model/log.ts";
import type { Marker } from "../../model/marker.ts";
import { specSchema } from "../../model/run.ts";
import { resultBlobs, runBlobs, specBlob } from "../../model/runBlobs.ts";
import { type PageBudget, takePages } from "../look/pageBudget.ts";
import type { ListedMarker } from "../perform/close.ts";
import type { CoordinatorPorts } from "../perform/perform.ts";
import type { Ownership } from "../perform/stateChain.ts";

/**
 * Begins a deletion that was asked for. One of the expiry deletes the state first, under the ETag of the state whose
 * age was judged: it is outdated where the run has gone on since, by a retry that it did not see.
 */
export async function beginDeletion(
  ports: CoordinatorPorts,
  owner: Ownership,
  { by, uid, judged }: Marker,
  id: string,
): Promise<"begun" | "outdated"> {
  if (by !== "expiry") return "begun";
  const { blobs } = ports.storage;
  const { runs } = ports.names;
  const name = runBlobs(id, uid).state;
  const ifJudged = { ifMatch: judged ?? "", signal: owner.lost };
  owner.assertLeading();
  if (judged !== undefined && (await blobs.remove(runs, name, ifJudged)) !== "conflict") return "begun";
  // Missing where there never was one, or where an earlier slice of this deletion removed it.
  const { kind } = await blobs.head(runs, name, { signal: owner.lost });
  return kind === "missing" ? "begun" : "outdated";
}

/**
 * Deletes what belongs to one uid: its blobs, then the spec under the ETag that it was read with, the marker last.
 * A slice at a time, so that a large run's deletion keeps no other run waiting; whoever leads next goes on with it.
 *
 * Not promised: that nothing appears afterwards. A worker that was at work may still write under the uid; nobody
 * reads it, and the expiry sweeps it away.
 */
export async function deleteRun(
  ports: CoordinatorPorts,
  owner: Ownership,
  uid: string,
  listed: ListedMarker,
  budget: PageBudget,
): Promise<"deleted" | "more"> {
  const { runs, results, active } = ports.names;
  const whole =
    (await deleteUnder(ports, owner, runs, runBlobs(listed.id, uid).root, budget)) &&
    (await deleteUnder(ports, owner, results, resultBlobs(listed.id, uid).root, budget));
  if (!whole || !(await deleteSpec(ports, owner, listed.id, uid))) return "more";
  owner.assertLeading();
  const ends = { ifMatch: listed.etag, signal: owner.lost };
  if ((await ports.storage.blobs.remove(active, listed.id, ends)) === "removed") {
    ports.log(logEvents.runDeleted({ run: listed.id, uid, term: owner.term }));
  }
  return "deleted";
}

/** Deletes one slice; true if nothing was left of it. */
export async function deleteUnder(
  ports: Pick<CoordinatorPorts, "storage">,
  owner: Pick<Ownership, "lost" | "assertLeading">,
  container: string,
  prefix: string,
  budget: PageBudget,
): Promise<boolean> {
  const { blobs } = ports.storage;
  if (takePages(budget, 1) === 0) return false;
  const { lost: signal } = owner;
  const page = await blobs.list(container, prefix, { pageSize: limits.deletesPerLook, signal });
  owner.assertLeading();
  const names = page.blobs.map((blob) => blob.name);
  if (names.length > 0) await blobs.removeMany(container, names, { signal });
  return page.cursor === undefined;
}

/** True if no spec of this uid is left. A spec that does not decode belongs to whoever has the marker. */
async function deleteSpec(
  ports: CoordinatorPorts,
  owner: Ownership,
  id: string,
  uid: string,
): Promise<boolean> {
  const { blobs } = ports.storage;
  const name = specBlob(id);
  const found = await blobs.read(ports.names.runs, name, { signal: owner.lost });
  if (found.kind === "missing" || !mayBelongTo(found.body, name, uid)) return true;
  owner.assertLeading();
  const { etag } = found.properties;
  const removed = await blobs.remove(ports.names.runs, name, { ifMatch: etag, signal: owner.lost });
  return removed !== "conflict";
}

function mayBelongTo(body: Uint8Array, name: string, uid: string): boolean {
  try {
    return decodeJson(specSchema, body, name).uid === uid;
  } catch (error) {
    if (error instanceof CorruptDataError) return true;
    throw error;
  }
}
