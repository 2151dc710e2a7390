import * as z from "zod";
import { idSchema } from "../../model/decode.ts";
import { identityHere } from "../../model/identity.ts";
import { decodeMarker, type Marker } from "../../model/marker.ts";
import type { Manifest } from "../../model/run.ts";
import { specBlob } from "../../model/runBlobs.ts";
import { isFinal, type State } from "../../model/state.ts";
import type { Missing } from "../../storage/ports.ts";
import type { Client } from "../client.ts";
import { whereAny } from "../places.ts";
import { readManifest, readMarker, readSpec, readState, unlessUnreadable } from "../runDocuments.ts";
import { newUid } from "../runRequest.ts";

/** What a command is decided on. */
export interface CommandFacts {
  /** Of the spec; of the marker where there is no spec. */
  readonly uid: string;
  readonly hasSpec: boolean;
  readonly marker: Marker | undefined;
  /** Also of a marker that does not decode. */
  readonly markerEtag: string | undefined;
  readonly state: State | undefined;
  /** Identity of the calculation's code in this process, where it knows the calculation. */
  readonly code?: string | undefined;
  /** Of the state's generation; only where the run has ended and a retry is asked for. */
  readonly manifest?: Manifest | undefined;
}

/**
 * Reads what any command but a deletion needs. The marker comes first: the command is written on its ETag, so a
 * marker that moved while the rest was read makes the caller look again.
 */
export async function readCommandFacts(client: Client, id: string, retry: boolean): Promise<CommandFacts> {
  const marker = await readMarker(client, id);
  const spec = await readSpec(client, id);
  const uid = spec?.value.uid ?? marker?.value.uid ?? "";
  const facts = { uid, hasSpec: spec !== undefined, marker: marker?.value, markerEtag: marker?.etag };
  const state = spec === undefined ? undefined : (await readState(client, id, uid))?.value;
  if (!retry || spec === undefined || state === undefined || !isFinal(state.phase))
    return { ...facts, state };
  // A manifest that nobody can read is no result, and a retry is how to come by one.
  const read = () => readManifest(client, state, state.generation);
  const code = identityHere(client.calculations, spec.value.calculation);
  return { ...facts, state, code, manifest: await unlessUnreadable(read, { newer: false }) };
}

const missing: Missing = { kind: "missing" };
const ownerSchema = z.object({ uid: idSchema });

/**
 * Reads what a deletion needs, which is little more than whose blobs they are, so that also a run can be deleted
 * whose documents do not decode. Throws `NewerVersionError` for a marker of a newer version, because nobody may
 * write over it.
 */
export async function readDeletionFacts(client: Client, id: string): Promise<CommandFacts> {
  const { blobs } = client.storage;
  const blob = await whereAny(blobs.head(client.names.active, id), missing);
  const { etag, metadata } = blob.kind === "missing" ? noMarker : blob.properties;
  const decode = () => (etag === undefined ? undefined : decodeMarker(metadata, id));
  const marker = await unlessUnreadable(decode, { newer: false });
  const spec = await whereAny(blobs.read(client.names.runs, specBlob(id)), missing);
  const told = idSchema.safeParse(metadata["uid"]).data;
  if (spec.kind === "missing") {
    return { uid: told ?? "", hasSpec: false, marker, markerEtag: etag, state: undefined };
  }
  const uid = ownerOf(spec.body) ?? told ?? (await anyUid(client, id));
  const state = await unlessUnreadable(() => readState(client, id, uid), { newer: true });
  return { uid, hasSpec: true, marker, markerEtag: etag, state: state?.value };
}

const noMarker: { readonly etag: undefined; readonly metadata: Readonly<Record<string, string>> } = {
  etag: undefined,
  metadata: {},
};

/** The uid is all that counts of a spec here, whatever else is wrong with it and whichever version wrote it. */
export function ownerOf(spec: Uint8Array): string | undefined {
  try {
    return ownerSchema.parse(JSON.parse(Buffer.from(spec).toString("utf8"))).uid;
  } catch {
    return undefined;
  }
}

/** Where neither spec nor marker tell it, the blobs do. Without any there is nothing but the spec to delete. */
async function anyUid(client: Client, id: string): Promise<string> {
  const prefix = `${id}/`;
  const listing = client.storage.blobs.listFolders(client.names.runs, prefix);
  const { folders } = await whereAny(listing, { folders: [], dateMs: 0 });
  const uids = folders.map((folder) => folder.slice(prefix.length, -1));
  return uids.find((uid) => idSchema.safeParse(uid).success) ?? newUid(client.random);
}
