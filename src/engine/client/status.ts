import type { Marker } from "../model/marker.ts";
import type { Manifest, Spec } from "../model/run.ts";
import { isFinal, type State } from "../model/state.ts";
import type { Client } from "./client.ts";
import { asksRetry } from "./retried.ts";
import { newestManifest, readMarker, readState, requireSpec, vouchedManifest } from "./runDocuments.ts";
import { type RunView, viewOf } from "./runView.ts";

/**
 * The view of one run. Throws `InputError` for an unknown run; `CorruptDataError` or `OtherVersionError` if its
 * documents do not decode.
 */
export async function status(client: Client, id: string): Promise<RunView> {
  return (await readStatus(client, id)).view;
}

/** The view of one run, and the version of the documents that it shows: the same version differs by time only. */
export async function readStatus(client: Client, id: string) {
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
  const retried = marker?.uid === uid && asksRetry(state, marker);
  if (isFinal(state.phase)) return retried ? undefined : await newestManifest(client, state);
  return state.phase === "finishing" ? await vouchedManifest(client, state, state.generation) : undefined;
}
