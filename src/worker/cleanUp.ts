import { decodeJson } from "../model/decode.ts";
import type { MessageOf } from "../model/message.ts";
import { manifestSchema } from "../model/run.ts";
import { resultBlobs, runBlobs } from "../model/runBlobs.ts";
import type { WorkerPorts } from "./ports.ts";

/**
 * Deletes the partials of one shard, or without a shard all nodes and what a retry from the start left behind; only if
 * the manifest says that the result is complete.
 */
export async function cleanUp(ports: WorkerPorts, message: MessageOf<"cleanup">): Promise<string> {
  const { run, uid, gen, shard, origin = 1 } = message;
  const { blobs } = ports.storage;
  const { results } = ports.names;
  const name = resultBlobs(run, uid).manifest(gen);
  const found = await blobs.read(results, name);
  if (found.kind === "missing" || !decodeJson(manifestSchema, found.body, name).complete) return "kept";
  const at = runBlobs(run, uid, origin);
  if (shard !== undefined) await deleteUnder(ports, at.partsOf(shard));
  else {
    await deleteUnder(ports, at.nodes);
    for (const prefix of at.outputsBefore) await deleteUnder(ports, prefix);
  }
  return "deleted";
}

async function deleteUnder(
  { storage: { blobs }, names: { runs } }: WorkerPorts,
  prefix: string,
): Promise<void> {
  let cursor: string | undefined;
  do {
    const page = await blobs.list(runs, prefix, { cursor });
    if (page.blobs.length > 0)
      await blobs.removeMany(
        runs,
        page.blobs.map((blob) => blob.name),
      );
    cursor = page.cursor;
  } while (cursor !== undefined);
}
