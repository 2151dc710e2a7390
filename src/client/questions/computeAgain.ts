import { countBits, decodeBitmap, hasBit } from "../../model/bitmap.ts";
import { wireVersion } from "../../model/decode.ts";
import { CorruptDataError } from "../../model/errors.ts";
import { encodeMessage } from "../../model/message.ts";
import { decodeVerified, type Verified } from "../../model/output.ts";
import { type Layout, packsOfShard, sizeOf } from "../../model/packs.ts";
import type { Manifest } from "../../model/run.ts";
import { lastNumberOf, resultBlobs } from "../../model/runBlobs.ts";
import type { ListPage } from "../../storage/ports.ts";
import { boundedMap } from "../boundedMap.ts";
import type { Client } from "../client.ts";
import { clientLimits } from "../clientLimits.ts";
import { newUid } from "../runRequest.ts";
import { answerPace } from "./soFar.ts";

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

type Asked = Pick<Manifest, "run" | "uid" | "generation" | "origin" | "code" | "mixed">;

/**
 * Asks workers to compute packs again, a bounded number at a time, and gives their answers by pack. Ends when all
 * have come, after `waitMs` without any, or with the signal; the answers are deleted.
 *
 * Not promised: that nothing is left. An answer that comes after the end stays until the run is deleted.
 */
export async function computeAgain(
  client: Client,
  { run, uid, generation, origin, code, mixed }: Asked,
  packs: readonly number[],
  options: {
    readonly waitMs: number;
    readonly signal?: AbortSignal;
    readonly onProgress?: (answered: number, drawn: number) => void;
  },
): Promise<ReadonlyMap<number, Verified>> {
  const { blobs, queues } = client.storage;
  const { results, urgent } = client.names;
  const tag = newUid(client.random);
  const prefix = resultBlobs(run, uid).verifiedOf(tag);
  const answers = new Map<number, Verified>();
  const rest = [...packs];
  const nap = answerPace(client);
  let lastNewsMs = client.clock.monotonicMs();

  const send = (pack: number): Promise<unknown> => {
    const message = {
      v: wireVersion,
      kind: "verify",
      run,
      uid,
      gen: generation,
      send: 1,
      turn: 0,
      tag,
      pack,
      ...(origin === undefined ? {} : { origin }),
      ...(mixed === true ? { mix: code } : {}),
    } as const;
    return queues.send(urgent, encodeMessage(message));
  };
  try {
    while (answers.size < packs.length) {
      const waiting = packs.length - rest.length - answers.size;
      const next = rest.splice(0, clientLimits.verifyAtOnce - waiting);
      await boundedMap(next, clientLimits.readsAtOnce, send);
      const known = answers.size;
      for (const blob of await listAll(client, prefix)) {
        const pack = lastNumberOf(blob.name);
        if (!answers.has(pack)) answers.set(pack, decodeVerified(blob.metadata, blob.name));
      }
      if (answers.size > known) {
        lastNewsMs = client.clock.monotonicMs();
        options.onProgress?.(answers.size, packs.length);
      }
      const silentMs = client.clock.monotonicMs() - lastNewsMs;
      if (answers.size === packs.length || silentMs >= options.waitMs || options.signal?.aborted) break;
      await nap(options.signal);
    }
    return answers;
  } finally {
    const left = await listAll(client, prefix);
    await blobs.removeMany(
      results,
      left.map((blob) => blob.name),
    );
  }
}

async function listAll(client: Client, prefix: string): Promise<ListPage["blobs"]> {
  const all: ListPage["blobs"][number][] = [];
  let cursor: string | undefined;
  do {
    const page = await client.storage.blobs.list(client.names.results, prefix, { metadata: true, cursor });
    all.push(...page.blobs);
    cursor = page.cursor;
  } while (cursor !== undefined);
  return all;
}
