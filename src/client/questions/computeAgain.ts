import pMap from "p-map";
import { wireVersion } from "../../model/decode.ts";
import { encodeMessage } from "../../model/message.ts";
import { decodeVerified, type Verified } from "../../model/output.ts";
import type { Manifest } from "../../model/run.ts";
import { lastNumberOf, resultBlobs } from "../../model/runBlobs.ts";
import type { ListedBlob } from "../../storage/ports.ts";
import { type Client, clientLimits, defined } from "../client.ts";
import { pages, unlessDenied } from "../containersAndQueues.ts";
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
  { run, uid, generation, origin, code, mixed }: Manifest,
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
  const pause = answerPace(client);
  let lastAnswerMs = client.clock.monotonicMs();

  const send = (pack: number): Promise<unknown> => {
    const work = { v: wireVersion, kind: "verify", run, uid, gen: generation, send: 1, turn: 0 } as const;
    const mix = mixed === true ? code : undefined;
    return queues.send(urgent, encodeMessage({ ...work, tag, pack, ...defined({ origin, mix }) }));
  };
  const listAnswers = async (): Promise<readonly ListedBlob[]> => {
    const all: ListedBlob[] = [];
    const list = (cursor: string | undefined) => blobs.list(results, prefix, { metadata: true, cursor });
    for await (const page of pages(list)) all.push(...page.blobs);
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
    const left = await listAnswers();
    // An operator deletes nothing; what is left goes with the run.
    await unlessDenied(
      blobs.removeMany(
        results,
        left.map(({ name }) => name),
      ),
    );
  }
}
