import { closedBlobs, parseClosed } from "../model/closedRun.ts";
import { decodeJson, unlessUnreadable } from "../model/decode.ts";
import { InputError } from "../model/errors.ts";
import { keptIn } from "../model/marker.ts";
import { runIdPattern } from "../model/names.ts";
import { specSchema } from "../model/run.ts";
import { specBlob } from "../model/runBlobs.ts";
import type { ListedBlob } from "../storage/ports.ts";
import type { Client } from "./client.ts";
import { command } from "./commands/command.ts";
import { blobPages } from "./containersAndQueues.ts";
import { headMarker, readBlob, uidsOf } from "./runDocuments.ts";

/** What was old. */
export interface Pruned {
  /** Ids of ended runs, and of submits that broke off, whose deletion was asked for; a leader does it. */
  readonly runs: readonly string[];
  /** Blobs of no run that were deleted. */
  readonly blobs: number;
}

/** Nobody writes any more under the uid of a run that was deleted a day ago. */
export const pruneMsMin = 86_400_000;

/**
 * Does by hand what expiry and the lifecycle rule of the account do: asks for the deletion of runs that ended so long ago and of
 * submits that broke off, and deletes what belongs to no run: what late workers wrote under one that was deleted, and records of
 * messages that nobody understood. `keepMs` is at least `pruneMsMin`. With `dry` nothing is written.
 */
export async function prune(client: Client, keepMs: number, dry = false): Promise<Pruned> {
  const { names } = client;
  const broken: string[] = [];
  const of = { keepMs, dry, broken };
  // First, as nothing is judged of a run that has a marker.
  const blobs =
    (await pruneContainer(client, names.runs, of)) + (await pruneContainer(client, names.results, of));
  // A submit of the same moment finds the spec again: like any deletion, this one meets it at the marker.
  if (!dry) for (const id of broken) await isAskedToDelete(client, id, dry);
  return { runs: [...(await pruneRuns(client, of)), ...broken], blobs };
}

interface Pruning {
  readonly keepMs: number;
  readonly dry: boolean;
  /** Gets the ids of submits that broke off after their spec. */
  readonly broken: string[];
}

async function pruneRuns(client: Client, { keepMs, dry }: Pruning): Promise<string[]> {
  const runs: string[] = [];
  const kept = await keptIn(blobPages(client, client.names.active, "", { metadata: true }));
  for await (const { blobs, dateMs } of blobPages(client, client.names.runs, closedBlobs))
    for (const { name, lastModifiedMs } of blobs) {
      const id = parseClosed(name)?.id;
      if (id === undefined || dateMs - lastModifiedMs <= keepMs) continue;
      if (kept.has(id)) continue;
      // One that is tried again has a marker.
      if ((await headMarker(client, id)).kind === "found") continue;
      if (await isAskedToDelete(client, id, dry)) runs.push(id);
    }
  return runs;
}

/** False if it is gone already, and only its summary is there. */
async function isAskedToDelete(client: Client, id: string, dry: boolean): Promise<boolean> {
  try {
    if (dry) return (await uidsOf(client, id)).length > 0;
    await command(client, id, { kind: "delete" });
    return true;
  } catch (error) {
    if (error instanceof InputError) return false;
    throw error;
  }
}

/** What a list brings of one uid, or a blob that lies under none. */
interface Group {
  readonly id: string;
  readonly uid: string | undefined;
  readonly names: string[];
  newestMs: number;
}

async function pruneContainer(client: Client, container: string, of: Pruning): Promise<number> {
  const { keepMs, dry, broken } = of;
  let pruned = 0;
  const prunePart = async (group: Group | undefined, nowMs: number): Promise<void> => {
    if (group === undefined || nowMs - group.newestMs <= keepMs || (await belongsToRun(client, group)))
      return;
    if (group.names[0] === specBlob(group.id)) return void broken.push(group.id);
    if (!dry) await client.storage.blobs.removeMany(container, group.names);
    pruned += group.names.length;
  };
  let group: Group | undefined;
  let nowMs = 0;
  for await (const { blobs, dateMs } of blobPages(client, container, "")) {
    nowMs = dateMs;
    for (const blob of blobs) {
      const { id, uid } = placeOf(blob);
      if (group === undefined || group.id !== id || group.uid !== uid || uid === undefined) {
        await prunePart(group, nowMs);
        group = { id, uid, names: [], newestMs: 0 };
      }
      group.names.push(blob.name);
      group.newestMs = Math.max(group.newestMs, blob.lastModifiedMs);
    }
  }
  await prunePart(group, nowMs);
  return pruned;
}

/** `{id}/{uid}/…` belongs to a uid; `{id}/spec.json` and `_dropped/{hash}` to none. */
function placeOf({ name }: Pick<ListedBlob, "name">): Pick<Group, "id" | "uid"> {
  const [id = "", uid, ...rest] = name.split("/");
  return { id, uid: rest.length === 0 ? undefined : uid };
}

/** What has a state or a result stays, even if its spec was lost: nobody asked for its deletion. */
async function belongsToRun(client: Client, { id, uid, names }: Group): Promise<boolean> {
  if (id === "_dropped") return false;
  if (!runIdPattern.test(id) || (uid === undefined && names[0] !== specBlob(id))) return true;
  if (names.some((name) => /\/(state|manifest)\.json$/.test(name))) return true;
  if ((await headMarker(client, id)).kind === "found") return true;
  const found = await readBlob(client, client.names.runs, specBlob(id));
  if (found.kind === "missing") return false;
  const spec = await unlessUnreadable(() => decodeJson(specSchema, found.body, specBlob(id)));
  if (spec === undefined || uid !== undefined) return spec === undefined || spec.uid === uid;
  // A spec alone is all that a submit which broke off has left.
  return (await uidsOf(client, id)).includes(spec.uid);
}
