import { decodeJson, idSchema } from "../model/decode.ts";
import { CorruptDataError, InputError } from "../model/errors.ts";
import { isVouched } from "../model/manifestFits.ts";
import { decodeMarker, type Marker } from "../model/marker.ts";
import { parseRunId } from "../model/names.ts";
import { type Manifest, manifestSchema, type Plan, planSchema, type Spec, specSchema } from "../model/run.ts";
import { resultBlobs, runBlobs, specBlob } from "../model/runBlobs.ts";
import { type State, stateSchema } from "../model/state.ts";
import { checkRequestHash, documentHash, specLost } from "../model/storedSpec.ts";
import type { Client } from "./client.ts";
import { emptyIfMissing } from "./containersAndQueues.ts";

/** A run of a uid, as documents and messages name it. */
export type RunKey = Pick<Spec, "run" | "uid">;

export interface Read<T> {
  readonly value: T;
  readonly etag: string;
  readonly lastModifiedMs: number;
  /** The storage service's time of this answer. */
  readonly dateMs: number;
}

/** A document whose SHA-256 others name. */
export interface ReadHashed<T> extends Read<T> {
  readonly sha256: string;
}

const missing = { kind: "missing" } as const;

export const readBlob = ({ storage }: Client, container: string, name: string) =>
  emptyIfMissing(storage.blobs.read(container, name), missing);

export const headMarker = ({ storage, names }: Client, id: string) =>
  emptyIfMissing(storage.blobs.head(names.active, id), missing);

/** Throws `InputError` for an invalid id and for an unknown run, and `CorruptDataError` for one that has lost its spec. */
export async function requireSpec(client: Client, id: string): Promise<ReadHashed<Spec>> {
  const spec = await readSpec(client, parseRunId(id));
  if (spec !== undefined) return spec;
  throw (await uidWithoutSpec(client, id)) === undefined ? unknownRun(id) : specLost(id);
}

/** The uid of a run whose state is there and whose spec was lost; undefined without one. */
export async function uidWithoutSpec(client: Client, id: string): Promise<string | undefined> {
  for (const uid of await uidsOf(client, id))
    if ((await readBlob(client, client.names.runs, runBlobs(id, uid).state)).kind === "found") return uid;
  return undefined;
}

/** The uids under which there are blobs of this id. */
export async function uidsOf({ storage, names }: Client, id: string): Promise<string[]> {
  const prefix = `${id}/`;
  const listing = storage.blobs.listFolders(names.runs, prefix);
  const { folders } = await emptyIfMissing(listing, { folders: [], dateMs: 0 });
  return folders
    .map((folder) => folder.slice(prefix.length, -1))
    .filter((uid) => idSchema.safeParse(uid).success);
}

export const unknownRun = (id: string): InputError =>
  new InputError("unknown", "unknown-run", `there is no run ${JSON.stringify(id)}`, { field: "run" });

export async function readSpec(client: Client, id: string): Promise<ReadHashed<Spec> | undefined> {
  const found = await readBlob(client, client.names.runs, specBlob(id));
  if (found.kind === "missing") return undefined;
  const value = decodeJson(specSchema, found.body, `the spec of ${id}, ${specBlob(id)},`);
  checkRequestHash(value);
  return { value, sha256: documentHash(found.body), ...factsOf(found) };
}

export async function readState(client: Client, id: string, uid: string): Promise<Read<State> | undefined> {
  const blob = runBlobs(id, uid).state;
  const found = await readBlob(client, client.names.runs, blob);
  if (found.kind === "missing") return undefined;
  return { value: decodeJson(stateSchema, found.body, `the state of ${id}, ${blob},`), ...factsOf(found) };
}

export async function readMarker(client: Client, id: string): Promise<Read<Marker> | undefined> {
  const found = await headMarker(client, id);
  if (found.kind === "missing") return undefined;
  return { value: decodeMarker(found.properties.metadata, id), ...factsOf(found) };
}

interface Found extends Pick<Read<unknown>, "dateMs"> {
  readonly properties: Pick<Read<unknown>, "etag" | "lastModifiedMs">;
}

const factsOf = ({ properties: { etag, lastModifiedMs }, dateMs }: Found) => ({
  etag,
  lastModifiedMs,
  dateMs,
});

/** The plan of a run that has a result. Throws `CorruptDataError` if it is missing. */
export async function readPlan(client: Client, { run, uid }: RunKey): Promise<ReadHashed<Plan>> {
  const found = await client.storage.blobs.read(client.names.runs, runBlobs(run, uid).plan);
  if (found.kind === "missing") throw new CorruptDataError("plan-missing", `the plan of ${run} is gone`);
  const value = decodeJson(planSchema, found.body, `the plan of ${run}`);
  return { value, sha256: documentHash(found.body), ...factsOf(found) };
}

export async function readManifest(
  client: Client,
  { run, uid }: RunKey,
  generation: number,
): Promise<Manifest | undefined> {
  const blob = resultBlobs(run, uid).manifest(generation);
  const found = await readBlob(client, client.names.results, blob);
  return found.kind === "missing"
    ? undefined
    : decodeJson(manifestSchema, found.body, `the manifest of ${run}, ${blob},`);
}

/** The manifest of a generation. One that disagrees with the leader's chunk counts is forged, and ignored. */
export async function vouchedManifest(
  client: Client,
  state: State,
  generation: number,
): Promise<Manifest | undefined> {
  const manifest = await readManifest(client, state, generation);
  return manifest !== undefined && isVouched(state, manifest, generation) ? manifest : undefined;
}

/** The vouched manifest of the newest generation that has one. */
export async function newestManifest(client: Client, state: State): Promise<Manifest | undefined> {
  for (let generation = state.generation; generation >= 1; generation -= 1) {
    const manifest = await vouchedManifest(client, state, generation);
    if (manifest !== undefined) return manifest;
  }
  return undefined;
}
