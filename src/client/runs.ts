import { CorruptDataError, LeasefoldError, NewerVersionError } from "../model/errors.ts";
import { decodeMarker, type Marker } from "../model/marker.ts";
import { runIdPattern } from "../model/names.ts";
import type { ListedBlob, ListPage } from "../storage/ports.ts";
import { boundedMap } from "./boundedMap.ts";
import type { Client } from "./client.ts";
import { clientLimits } from "./clientLimits.ts";
import { whereAny } from "./places.ts";
import { type Read, readSpec, readState } from "./runDocuments.ts";
import { type RunView, viewOf } from "./runView.ts";

/** A run whose documents this version cannot read; it does not keep the others from being listed. */
export interface UnreadableRun {
  readonly run: string;
  readonly word: "unreadable" | "needs-newer-version";
  readonly active: boolean;
  readonly error: { readonly code: string; readonly message: string };
}

export type ListedRun = RunView | UnreadableRun;

/** Every run of the namespace: active ones first, then the newest. Reads two blobs a run. */
export async function runs(client: Client): Promise<readonly ListedRun[]> {
  const [markers, ids] = await Promise.all([listMarkers(client), listIds(client)]);
  const all = await boundedMap(ids, clientLimits.readsAtOnce, (id) => readRun(client, id, markers.get(id)));
  return all.filter((one) => one !== undefined).sort(byInterest);
}

async function readRun(
  client: Client,
  id: string,
  marker: ListedMarker | undefined,
): Promise<ListedRun | undefined> {
  try {
    if (marker instanceof LeasefoldError) throw marker;
    const spec = await readSpec(client, id);
    // Blobs without a spec are what is left of a deleted run.
    if (spec === undefined) return undefined;
    const state = await readState(client, id, spec.value.uid);
    return viewOf({ spec, state, marker, manifest: undefined });
  } catch (error) {
    const newer = error instanceof NewerVersionError;
    if (!newer && !(error instanceof CorruptDataError)) throw error;
    const { code, message } = error;
    const word = newer ? "needs-newer-version" : "unreadable";
    return { run: id, word, active: marker !== undefined, error: { code, message } };
  }
}

async function listIds(client: Client): Promise<readonly string[]> {
  const ids: string[] = [];
  let cursor: string | undefined;
  do {
    const listing = client.storage.blobs.listFolders(client.names.runs, "", { cursor });
    const page = await whereAny(listing, { folders: [], dateMs: 0 });
    ids.push(...page.folders.map((folder) => folder.slice(0, -1)).filter((id) => runIdPattern.test(id)));
    cursor = page.cursor;
  } while (cursor !== undefined);
  return ids;
}

/** A marker, or what is wrong with it: that is told where its run stands in the list. */
type ListedMarker = Read<Marker> | LeasefoldError;

async function listMarkers(client: Client): Promise<ReadonlyMap<string, ListedMarker>> {
  const markers = new Map<string, ListedMarker>();
  let cursor: string | undefined;
  do {
    const listing = client.storage.blobs.list(client.names.active, "", { metadata: true, cursor });
    const page: ListPage = await whereAny(listing, { blobs: [], dateMs: 0 });
    for (const blob of page.blobs) markers.set(blob.name, listedMarker(blob, page.dateMs));
    cursor = page.cursor;
  } while (cursor !== undefined);
  return markers;
}

function listedMarker({ name, metadata, etag, lastModifiedMs }: ListedBlob, dateMs: number): ListedMarker {
  try {
    return { value: decodeMarker(metadata, name), etag, lastModifiedMs, dateMs };
  } catch (error) {
    if (error instanceof LeasefoldError) return error;
    throw error;
  }
}

const submittedAt = (one: ListedRun): string => ("submittedAt" in one ? one.submittedAt : "");

const byInterest = (a: ListedRun, b: ListedRun): number =>
  Number(b.active) - Number(a.active) ||
  submittedAt(b).localeCompare(submittedAt(a)) ||
  a.run.localeCompare(b.run);
