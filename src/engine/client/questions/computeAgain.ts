import pMap from "p-map";
import { countBits, decodeBitmap, hasBit } from "../../model/bitmap.ts";
import { CorruptDataError } from "../../model/errors.ts";
import { encodeMessage } from "../../model/message.ts";
import { decodeVerified, type Verified } from "../../model/output.ts";
import { type Layout, packsOfShard, sizeOf } from "../../model/packs.ts";
import type { Manifest } from "../../model/run.ts";
import { lastNumberOf, resultBlobs } from "../../model/runBlobs.ts";
import { versions } from "../../model/versions.ts";
import type { ListedBlob } from "../../storage/ports.ts";
import { type Client, clientLimits, defined } from "../client.ts";
import { blobPages, unlessDenied } from "../containersAndQueues.ts";
import { newUid } from "../runRequest.ts";
import { answerPace } from "./soFar.ts";

/**
 * Has workers compute packs again, at most `verifyAtOnce` at a time, and gives their answers by pack. Ends with the last
 * answer, after `waitMs` without any, or with the signal. The answers are deleted.
 *
 * Not promised: that nothing is left. An answer that comes after the end stays until the run is deleted.
 */
export async function computeAgain(
  client: Client,
  { run, uid, generation, spec, plan }: Manifest,
  packs: readonly number[],
  options: {
    readonly waitMs: number;
    readonly signal?: AbortSignal;
    readonly onProgress?: (answered: number, drawn: number) => void;
    /** The numbers are those of prefixes, and the calculation must say this of each. */
    readonly stops?: (prefix: number) => boolean;
  },
): Promise<ReadonlyMap<number, Verified>> {
  const { blobs, queues } = client.storage;
  const { results, urgent } = client.names;
  const tag = newUid(client.random);
  const prefix = resultBlobs(run, uid).verifiedOf(tag);
  const answers = new Map<number, Verified>();
  const rest = [...packs];
  const pause = answerPace(client);
  let lastAnswerMs = client.clock.monotonicMs();

  const send = (pack: number): Promise<unknown> => {
    const work = {
      v: versions.message,
      kind: "verify",
      run,
      uid,
      gen: generation,
      send: 1,
      turn: 0,
    } as const;
    const stops = options.stops?.(pack);
    return queues.send(urgent, encodeMessage({ ...work, tag, pack, ...defined({ spec, plan, stops }) }));
  };
  const listAnswers = async (): Promise<readonly ListedBlob[]> => {
    const all: ListedBlob[] = [];
    for await (const page of blobPages(client, results, prefix, { metadata: true })) all.push(...page.blobs);
    return all;
  };
  try {
    while (answers.size < packs.length) {
      const waiting = packs.length - rest.length - answers.size;
      const next = rest.splice(0, clientLimits.verifyAtOnce - waiting);
      await pMap(next, send, { concurrency: clientLimits.readsAtOnce });
      const known = answers.size;
      for (const blob of await listAnswers()) {
        const pack = lastNumberOf(blob.name);
        if (!answers.has(pack)) answers.set(pack, decodeVerified(blob.metadata, blob.name));
      }
      if (answers.size > known) {
        lastAnswerMs = client.clock.monotonicMs();
        options.onProgress?.(answers.size, packs.length);
      }
      const silentMs = client.clock.monotonicMs() - lastAnswerMs;
      if (answers.size === packs.length || silentMs >= options.waitMs || options.signal?.aborted) break;
      await pause(options.signal);
    }
    return answers;
  } finally {
    const left = (await listAnswers()).map(({ name }) => name);
    // An operator deletes nothing; what is left goes with the run.
    await unlessDenied(blobs.removeMany(results, left));
  }
}

/** SHA-256 in hex of the packs that a result folded, by pack. */
export type PackHashes = ReadonlyMap<number, string>;

const hashBytes = 32;

/**
 * Reads the hashes of a shard from the newest generation that has them, up to the result's: a retry keeps those of the
 * shards that it does not touch. Empty if there are none. Throws `CorruptDataError` for bytes that do not fit the shard.
 */
export async function readPackHashes(
  client: Client,
  { run, uid, generation }: Pick<Manifest, "run" | "uid" | "generation">,
  layout: Layout,
  shard: number,
): Promise<PackHashes> {
  for (let number = generation; number >= 1; number -= 1) {
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
      const sha256 = hex.slice(at, at + 2 * hashBytes);
      // One with gaps is computed by nobody again.
      if (/[^0]/.test(sha256)) hashes.set(pack, sha256);
      at += 2 * hashBytes;
    }
    return hashes;
  }
  return new Map();
}
