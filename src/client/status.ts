import pMap from "p-map";
import { CorruptDataError, LeasefoldError, NewerVersionError } from "../model/errors.ts";
import { decodeMarker, type Marker } from "../model/marker.ts";
import { runIdPattern } from "../model/names.ts";
import type { Manifest, Spec } from "../model/run.ts";
import { isFinal, type State } from "../model/state.ts";
import type { ListedBlob } from "../storage/ports.ts";
import { type Client, clientLimits } from "./client.ts";
import { emptyIfMissing, pages } from "./containersAndQueues.ts";
import {
  newestManifest,
  type Read,
  readMarker,
  readSpec,
  readState,
  requireSpec,
  vouchedManifest,
} from "./runDocuments.ts";
import { type RunView, viewOf } from "./runView.ts";

/**
 * The view of one run. Throws `InputError` for an unknown run; `CorruptDataError` or `NewerVersionError` if its
 * documents do not decode.
 */
export async function status(client: Client, id: string): Promise<RunView> {
  return (await readStatus(client, id)).view;
}

/** The view of one run, and the version of the documents that it shows: the same version differs by time only. */
export async function readStatus(
  client: Client,
  id: string,
): Promise<{ readonly view: RunView; readonly version: string }> {
  const spec = await requireSpec(client, id);
  // The marker is read first: a run that closes between the two reads then shows as closed, never as lost.
  const first = await readMarker(client, id);
  const state = await readState(client, id, spec.value.uid);
  const active = state === undefined || !isFinal(state.value.phase);
  // A submit or retry may have created a marker between the two reads.
  const marker = first === undefined && active ? await readMarker(client, id) : first;
  const manifest = await currentManifest(client, spec.value, state?.value, marker?.value);
  const result = manifest && `${manifest.generation} ${manifest.sha256}`;
  const version = [spec.etag, state?.etag, marker?.etag, result].map((one) => one ?? "-").join(" ");
  return { view: viewOf({ spec, state, marker, manifest }), version };
}

/** While a generation is working only its own result counts; afterwards the newest result. */
async function currentManifest(
  client: Client,
  { uid }: Spec,
  state: State | undefined,
  marker: Marker | undefined,
): Promise<Manifest | undefined> {
  if (state === undefined) return undefined;
  const retried = marker?.uid === uid && marker.generation > state.generation;
  if (isFinal(state.phase)) return retried ? undefined : await newestManifest(client, state);
  return state.phase === "finishing" ? await vouchedManifest(client, state, state.generation) : undefined;
}

/** A run whose documents this version cannot read; the other runs are listed all the same. */
interface UnreadableRun {
  readonly run: string;
  readonly word: "unreadable" | "needs-newer-version";
  readonly active: boolean;
  readonly error: { readonly code: string; readonly message: string };
}

export type ListedRun = RunView | UnreadableRun;

/** All runs of the namespace: active ones first, then the newest. Reads two blobs for each run. */
export async function runs(client: Client): Promise<readonly ListedRun[]> {
  const [markers, ids] = await Promise.all([listMarkers(client), listIds(client)]);
  const read = (id: string) => readRun(client, id, markers.get(id));
  const all = await pMap(ids, read, { concurrency: clientLimits.readsAtOnce });
  return all.filter((one) => one !== undefined).sort(byInterest);
}

/** A marker, or the error of decoding it, which is shown with its run. */
type ListedMarker = Read<Marker> | LeasefoldError;

async function readRun(
  client: Client,
  id: string,
  marker: ListedMarker | undefined,
): Promise<ListedRun | undefined> {
  try {
    if (marker instanceof LeasefoldError) throw marker;
    const spec = await readSpec(client, id);
    // Blobs without a spec are leftovers of a deleted run.
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

async function listIds({ storage, names }: Client): Promise<readonly string[]> {
  const ids: string[] = [];
  const list = (cursor: string | undefined) =>
    emptyIfMissing(storage.blobs.listFolders(names.runs, "", { cursor }), { folders: [], dateMs: 0 });
  for await (const { folders } of pages(list)) ids.push(...folders.map((folder) => folder.slice(0, -1)));
  return ids.filter((id) => runIdPattern.test(id));
}

async function listMarkers({ storage, names }: Client): Promise<ReadonlyMap<string, ListedMarker>> {
  const markers = new Map<string, ListedMarker>();
  const list = (cursor: string | undefined) =>
    emptyIfMissing(storage.blobs.list(names.active, "", { metadata: true, cursor }), {
      blobs: [],
      dateMs: 0,
    });
  for await (const { blobs, dateMs } of pages(list))
    for (const blob of blobs) markers.set(blob.name, listedMarker(blob, dateMs));
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
