import { resultBlobs } from "../../model/names.ts";
import type { WorkerPorts } from "../ports.ts";

/**
 * Keeps the SHA-256 of every folded pack of a shard, 32 bytes each in index order, so that a result can be verified
 * after clean-up. The metadata say which packs those are, where not all.
 */
export async function writeHashes(
  ports: WorkerPorts,
  message: {
    readonly run: string;
    readonly uid: string;
    readonly gen: number;
    readonly members?: string | undefined;
  },
  shard: number,
  hashes: readonly Uint8Array[],
): Promise<void> {
  const name = resultBlobs(message.run, message.uid).hashes(message.gen, shard);
  await ports.storage.blobs.create(ports.names.results, name, Buffer.concat(hashes), {
    contentType: "application/octet-stream",
    metadata: message.members === undefined ? {} : { members: message.members },
  });
}
