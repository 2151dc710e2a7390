import { decodeJson } from "../model/decode.ts";
import { CorruptDataError, InputError, NewerVersionError } from "../model/errors.ts";
import { isVouched } from "../model/manifestFits.ts";
import { decodeMarker, type Marker } from "../model/marker.ts";
import { parseRunId } from "../model/names.ts";
import { type Manifest, manifestSchema, type Plan, planSchema, type Spec, specSchema } from "../model/run.ts";
import { resultBlobs, runBlobs, specBlob } from "../model/runBlobs.ts";
import { type State, stateSchema } from "../model/state.ts";
import type { Missing } from "../storage/ports.ts";
import type { Client } from "./client.ts";
import { whereAny } from "./places.ts";

/** What was read, or undefined where the bytes do not decode; with `newer` also where a newer version wrote them. */
export async function unlessUnreadable<T>(
  read: () => T | Promise<T>,
  { newer }: { readonly newer: boolean },
): Promise<T | undefined> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof CorruptDataError || (newer && error instanceof NewerVersionError)) return undefined;
    throw error;
  }
}

/** How the client reads the documents of a run. Each is decoded at the door; a missing one is `undefined`. */

const missing: Missing = { kind: "missing" };

export interface Read<T> {
  readonly value: T;
  readonly etag: string;
  readonly lastModifiedMs: number;
  /** The storage service's time of this answer. */
  readonly dateMs: number;
}

/** Throws `InputError` for an id that no run can have or none has. */
export async function requireSpec(client: Client, id: string): Promise<Read<Spec>> {
  const spec = await readSpec(client, parseRunId(id));
  if (spec === undefined) throw unknownRun(id);
  return spec;
}

export const unknownRun = (id: string): InputError =>
  new InputError("unknown", "unknown-run", `there is no run ${JSON.stringify(id)}`, { field: "run" });

export async function readSpec(client: Client, id: string): Promise<Read<Spec> | undefined> {
  const found = await whereAny(client.storage.blobs.read(client.names.runs, specBlob(id)), missing);
  if (found.kind === "missing") return undefined;
  return { value: decodeJson(specSchema, found.body, `the spec of ${id}`), ...factsOf(found) };
}

export async function readState(client: Client, id: string, uid: string): Promise<Read<State> | undefined> {
  const found = await whereAny(
    client.storage.blobs.read(client.names.runs, runBlobs(id, uid).state),
    missing,
  );
  if (found.kind === "missing") return undefined;
  return { value: decodeJson(stateSchema, found.body, `the state of ${id}`), ...factsOf(found) };
}

export async function readMarker(client: Client, id: string): Promise<Read<Marker> | undefined> {
  const found = await whereAny(client.storage.blobs.head(client.names.active, id), missing);
  if (found.kind === "missing") return undefined;
  return { value: decodeMarker(found.properties.metadata, id), ...factsOf(found) };
}

export async function readManifest(
  client: Client,
  run: { readonly run: string; readonly uid: string },
  generation: number,
): Promise<Manifest | undefined> {
  const name = resultBlobs(run.run, run.uid).manifest(generation);
  const found = await whereAny(client.storage.blobs.read(client.names.results, name), missing);
  if (found.kind === "missing") return undefined;
  return decodeJson(manifestSchema, found.body, `the manifest of ${run.run}`);
}

/** The plan of a run that has a result; throws `CorruptDataError` where it is gone. */
export async function readPlan(
  client: Client,
  { run, uid, origin }: { readonly run: string; readonly uid: string; readonly origin?: number | undefined },
): Promise<Plan> {
  const found = await client.storage.blobs.read(client.names.runs, runBlobs(run, uid, origin).plan);
  if (found.kind === "missing") throw new CorruptDataError("plan-missing", `the plan of ${run} is gone`);
  return decodeJson(planSchema, found.body, `the plan of ${run}`);
}

const factsOf = (found: {
  readonly dateMs: number;
  readonly properties: { readonly etag: string; readonly lastModifiedMs: number };
}) => ({
  etag: found.properties.etag,
  lastModifiedMs: found.properties.lastModifiedMs,
  dateMs: found.dateMs,
});

/**
 * The manifest of a generation, unless it tells of other chunks than the leader has counted: then a forged message made
 * it, and its result is not the run's.
 */
export async function vouchedManifest(
  client: Client,
  state: State,
  generation: number,
): Promise<Manifest | undefined> {
  const manifest = await readManifest(client, state, generation);
  return manifest !== undefined && isVouched(state, manifest, generation) ? manifest : undefined;
}

/** The manifest of the newest generation that has such a one. */
export async function newestManifest(client: Client, state: State): Promise<Manifest | undefined> {
  for (let at = state.generation; at >= 1; at -= 1) {
    const manifest = await vouchedManifest(client, state, at);
    if (manifest !== undefined) return manifest;
  }
  return undefined;
}
