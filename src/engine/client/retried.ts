import type { Marker } from "../model/marker.ts";
import { isFinal, type State } from "../model/state.ts";
import type { Client } from "./client.ts";
import { type Read, type RunKey, readMarker, readState } from "./runDocuments.ts";

/** A marker of a higher generation asks for a retry that no leader has begun. */
export const asksRetry = (state: State | undefined, marker: Marker | undefined): boolean =>
  state !== undefined && marker !== undefined && marker.generation > state.generation;

/**
 * The state of a run as its readers show it. A retry that no leader has begun is a generation of its own already, which has not
 * ended. A run that has ended costs a further HEAD.
 */
export async function readShown(client: Client, { run, uid }: RunKey): Promise<Read<State> | undefined> {
  const state = await readState(client, run, uid);
  if (state === undefined || !isFinal(state.value.phase)) return state;
  const marker = await readMarker(client, run);
  if (marker?.value.uid !== uid || !asksRetry(state.value, marker.value)) return state;
  const { finishedMs: _finished, ...rest } = state.value;
  const { generation } = marker.value;
  const value = { ...rest, generation, retriedMs: marker.lastModifiedMs };
  return { ...state, value, etag: `${state.etag} ${marker.etag}` };
}
