import { isVouched } from "../model/manifestFits.ts";
import type { Manifest } from "../model/run.ts";
import type { State } from "../model/state.ts";
import type { Client } from "./client.ts";
import { readManifest } from "./runDocuments.ts";

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
