import { countBits, decodeBitmap, hasBit } from "../../model/bitmap.ts";
import { CorruptDataError } from "../../model/errors.ts";
import { type Layout, packsOfShard, sizeOf } from "../../model/packs.ts";
import type { Manifest } from "../../model/run.ts";
import { resultBlobs } from "../../model/runBlobs.ts";
import type { Client } from "../client.ts";

/** SHA-256 in hex of the packs that a result folded, by pack. */
export type PackHashes = ReadonlyMap<number, string>;

const hashBytes = 32;

/**
 * Reads the hashes of a shard from the newest generation that has them, up to the result's: a retry keeps those of the
 * shards that it does not touch. Empty if there are none. Throws `CorruptDataError` for bytes that do not fit the shard.
 */
export async function readPackHashes(
  client: Client,
  { run, uid, generation, origin = 1 }: Pick<Manifest, "run" | "uid" | "generation" | "origin">,
  layout: Layout,
  shard: number,
): Promise<PackHashes> {
  for (let number = generation; number >= origin; number -= 1) {
    const name = resultBlobs(run, uid).hashes(number, shard);
    const found = await client.storage.blobs.read(client.names.results, name);
    if (found.kind === "missing") continue;
    const packs = packsOfShard(layout, shard);
    const members = found.properties.metadata["members"];
    const bits = members === undefined ? undefined : decodeBitmap(members, sizeOf(packs));
    const expected = hashBytes * (bits === undefined ? sizeOf(packs) : countBits(bits));
    if (found.body.length !== expected) {
      const message = `${name} has ${found.body.length} bytes; the hashes of its packs are ${expected}`;
      throw new CorruptDataError("bad-hashes", message);
    }
    const hashes = new Map<number, string>();
    const hex = Buffer.from(found.body).toString("hex");
    for (let pack = packs.from, at = 0; pack < packs.to; pack += 1) {
      if (bits !== undefined && !hasBit(bits, pack - packs.from)) continue;
      hashes.set(pack, hex.slice(at, at + 2 * hashBytes));
      at += 2 * hashBytes;
    }
    return hashes;
  }
  return new Map();
}
