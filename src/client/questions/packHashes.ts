import { countBits, decodeBitmap, hasBit } from "../../model/bitmap.ts";
import { CorruptDataError } from "../../model/errors.ts";
import { resultBlobs } from "../../model/names.ts";
import { type Layout, packsOfShard, sizeOf } from "../../model/packs.ts";
import type { Manifest } from "../../model/run.ts";
import type { Client } from "../client.ts";

/** The SHA-256 that a result keeps of the packs of one shard, in hex by pack; a pack that was not folded has none. */
export type PackHashes = ReadonlyMap<number, string>;

const hashBytes = 32;

/**
 * Reads them as the newest generation up to the result's wrote them: a shard that a retry did not touch keeps those
 * of an earlier one. Empty where there are none; throws `CorruptDataError` for bytes that do not fit the shard.
 */
export async function readPackHashes(
  client: Client,
  { run, uid, generation, origin = 1 }: Pick<Manifest, "run" | "uid" | "generation" | "origin">,
  layout: Layout,
  shard: number,
): Promise<PackHashes> {
  for (let at = generation; at >= origin; at -= 1) {
    const name = resultBlobs(run, uid).hashes(at, shard);
    const found = await client.storage.blobs.read(client.names.results, name);
    if (found.kind === "found") return decodeHashes(found, layout, shard, name);
  }
  return new Map();
}

function decodeHashes(
  found: {
    readonly body: Uint8Array;
    readonly properties: { readonly metadata: Readonly<Record<string, string>> };
  },
  layout: Layout,
  shard: number,
  name: string,
): PackHashes {
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
