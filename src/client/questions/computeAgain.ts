import { wireVersion } from "../../model/decode.ts";
import { encodeMessage } from "../../model/message.ts";
import { lastNumberOf, resultBlobs } from "../../model/names.ts";
import type { Manifest } from "../../model/run.ts";
import { decodeVerified, type Verified } from "../../model/verified.ts";
import type { ListPage } from "../../storage/ports.ts";
import { boundedMap } from "../boundedMap.ts";
import type { Client } from "../client.ts";
import { clientLimits } from "../clientLimits.ts";
import { newUid } from "../newRunId.ts";
import { answerPace } from "./answerPace.ts";

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
