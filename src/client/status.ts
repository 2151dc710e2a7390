import type { State } from "../model/state.ts";
import type { Client } from "./client.ts";
import { type Read, readManifest, readMarker, readState, requireSpec } from "./runDocuments.ts";
import { type RunView, viewOf } from "./runView.ts";

/**
 * How a run stands. Throws `InputError` for an unknown run; `CorruptDataError` or `NewerVersionError` where its
 * documents do not decode.
 */
export async function status(client: Client, id: string): Promise<RunView> {
  const spec = await requireSpec(client, id);
  // The marker first: a run that closes between the two reads then shows as closed, never as lost.
  const marker = await readMarker(client, id);
  const state = await readState(client, id, spec.value.uid);
  const manifest = mayHaveResult(state)
    ? await readManifest(client, spec.value, state.value.generation)
    : undefined;
  return viewOf({ spec, state, marker, manifest });
}

const mayHaveResult = (state: Read<State> | undefined): state is Read<State> =>
  state?.value.phase === "complete" || state?.value.phase === "finishing";
