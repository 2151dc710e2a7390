import { decodeJson } from "../model/decode.ts";
import type { MessageOf } from "../model/message.ts";
import { resultBlobs, runBlobs } from "../model/names.ts";
import { manifestSchema } from "../model/run.ts";
import type { WorkerPorts } from "./ports.ts";

/**
 * Deletes the partials of one shard, or without a shard all nodes; only if the manifest says that the result is
 * complete.
 */
export async function cleanUp(ports: WorkerPorts, message: MessageOf<"cleanup">): Promise<string> {
  const { run, uid, gen, shard } = message;
  const { blobs } = ports.storage;
  const { runs, results } = ports.names;
  const name = resultBlobs(run, uid).manifest(gen);
  const found = await blobs.read(results, name);
  if (found.kind === "missing" || !decodeJson(manifestSchema, found.body, name).complete) return "kept";
  const at = runBlobs(run, uid);
  const prefix = shard === undefined ? at.nodes : at.partsOf(shard);
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
  return "deleted";
}
