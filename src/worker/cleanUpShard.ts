import { decodeJson } from "../model/decode.ts";
import { resultBlobs, runBlobs } from "../model/names.ts";
import { manifestSchema } from "../model/run.ts";
import type { Job, WorkerPorts } from "./ports.ts";

/** Deletes the partials and the node of one shard, only if the manifest says that the result is complete. */
export async function cleanUpShard(ports: WorkerPorts, { message }: Job<"cleanup">): Promise<string> {
  const { run, uid, gen, shard } = message;
  const { blobs } = ports.storage;
  const name = resultBlobs(run, uid).manifest(gen);
  const found = await blobs.read(ports.names.results, name);
  if (found.kind === "missing" || !decodeJson(manifestSchema, found.body, name).complete) return "kept";
  const at = runBlobs(run, uid);
  let cursor: string | undefined;
  do {
    const page = await blobs.list(ports.names.runs, at.partsOf(shard), { cursor });
    for (let next = 0; next < page.blobs.length; next += deletesAtOnce) {
      const batch = page.blobs.slice(next, next + deletesAtOnce);
      await Promise.all(batch.map((blob) => blobs.remove(ports.names.runs, blob.name)));
    }
    cursor = page.cursor;
  } while (cursor !== undefined);
  await blobs.remove(ports.names.runs, at.node(gen, 1, shard));
  return "deleted";
}

const deletesAtOnce = 16;
