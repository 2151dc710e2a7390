import { decodeJson } from "../model/decode.ts";
import type { MessageOf } from "../model/message.ts";
import { manifestSchema } from "../model/run.ts";
import { resultBlobs, runBlobs } from "../model/runBlobs.ts";
import type { WorkerPorts } from "./ports.ts";
import { pagesOf } from "./storageCalls.ts";

/**
 * Deletes the partials of one shard, or without a shard all nodes and what a retry from the start left behind; only if
 * the manifest says that the result is complete.
 */
export async function cleanUp(ports: WorkerPorts, message: MessageOf<"cleanup">): Promise<string> {
  const { run, uid, gen, shard, origin = 1 } = message;
  const { blobs } = ports.storage;
  const { runs, results } = ports.names;
  const name = resultBlobs(run, uid).manifest(gen);
  const found = await blobs.read(results, name);
  if (found.kind === "missing" || !decodeJson(manifestSchema, found.body, name).complete) return "kept";
  const at = runBlobs(run, uid, origin);
  for (const prefix of shard === undefined ? [at.nodes, ...at.outputsBefore] : [at.partsOf(shard)])
    for await (const page of pagesOf(blobs, runs, prefix)) {
      const listed = page.blobs.map((blob) => blob.name);
      if (listed.length > 0) await blobs.removeMany(runs, listed);
    }
  return "deleted";
}
