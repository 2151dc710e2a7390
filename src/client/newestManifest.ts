import type { Manifest } from "../model/run.ts";
import type { Client } from "./client.ts";
import { readManifest } from "./runDocuments.ts";

/** The manifest of the newest generation up to `generation` that has one. */
export async function newestManifest(
  client: Client,
  run: { readonly run: string; readonly uid: string },
  generation: number,
): Promise<Manifest | undefined> {
  for (let at = generation; at >= 1; at -= 1) {
    const manifest = await readManifest(client, run, at);
    if (manifest !== undefined) return manifest;
  }
  return undefined;
}
