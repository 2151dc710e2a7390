import { createHash } from "node:crypto";
import { decodeMessage, type WorkMessage } from "../../../src/engine/model/message.ts";
import { encodeVerified, type Verified } from "../../../src/engine/model/output.ts";
import type { Answer } from "../../../src/engine/model/run.ts";
import { resultBlobs } from "../../../src/engine/model/runBlobs.ts";
import { type ClientWorld, names } from "../clientWorld.ts";

export const sha256 = (text: string): string => createHash("sha256").update(text).digest("hex");

/** Takes messages off the urgent queue and answers each by hand; gives all that came so far. */
export function answeringWorker(
  { client }: Pick<ClientWorld, "client">,
  answer: (message: WorkMessage) => Promise<void>,
): readonly WorkMessage[] {
  const { clock, storage } = client;
  const came: WorkMessage[] = [];
  void (async () => {
    for (;;) {
      const messages = await storage.queues.receive(names.urgent, { max: 32, visibilityS: 600 });
      for (const { text, id, popReceipt } of messages) {
        const message = decodeMessage(text);
        came.push(message);
        await answer(message);
        await storage.queues.remove(names.urgent, id, popReceipt);
      }
      await clock.sleep(100);
    }
  })();
  return came;
}

/** Writes what computing a pack again gave, as a worker would. */
export async function putVerified(
  { storage }: Pick<ClientWorld, "storage">,
  { run, uid, tag, pack }: Extract<WorkMessage, { kind: "verify" }>,
  verified: Verified,
): Promise<void> {
  const name = resultBlobs(run, uid).verified(tag, pack);
  await storage.blobs.create(names.results, name, "{}", { metadata: encodeVerified(verified) });
}

/** Writes an answer so far and its bytes, as a worker would; or that there is none. */
export async function putAnswer(
  { storage }: Pick<ClientWorld, "storage">,
  { run, uid, tag, gen }: Extract<WorkMessage, { kind: "sofar" }>,
  given:
    | { text: string; chunks: number; covers: { from: number; to: number }[] }
    | { code: string; message: string },
  change: Partial<Extract<Answer, { ok: true }>> = {},
): Promise<void> {
  const at = resultBlobs(run, uid);
  const blob = at.answerBytes(tag, "1-1-abcdefgh", "json");
  let answer: Answer;
  if ("code" in given) answer = { v: 1, ok: false, ...given };
  else {
    const { text, chunks, covers } = given;
    await storage.blobs.create(names.results, blob, text);
    const folded = covers.reduce((sum, { from, to }) => sum + to - from, 0);
    const facts = {
      v: 1,
      ok: true,
      run,
      uid,
      generation: gen,
      blob,
      contentType: "application/json",
    } as const;
    answer = { ...facts, bytes: text.length, sha256: sha256(text), chunks, folded, covers, ...change };
  }
  await storage.blobs.create(names.results, at.answer(tag), JSON.stringify(answer));
}

/** What verifications and answers so far have left behind. */
export const answersLeft = ({ storage }: Pick<ClientWorld, "storage">): string[] =>
  storage.operator.blobNames(names.results).filter((name) => name.includes("/answers/"));
