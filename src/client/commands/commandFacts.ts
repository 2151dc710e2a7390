import { identityHere } from "../../model/identity.ts";
import type { Marker } from "../../model/marker.ts";
import type { Manifest } from "../../model/run.ts";
import { isFinal, type State } from "../../model/state.ts";
import type { Client } from "../client.ts";
import { readManifest, readMarker, readSpec, readState } from "../runDocuments.ts";
import { unlessUnreadable } from "../unlessUnreadable.ts";

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
