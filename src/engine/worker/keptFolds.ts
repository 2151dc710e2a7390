import { hash } from "node:crypto";
import { decodeKept, type KeptFold } from "../calculation/packFold.ts";
import { CorruptDataError } from "../model/errors.ts";
import { attemptOf, type MessageOf } from "../model/message.ts";
import { belongsTo, outputContentType, parseOutputFacts, planTag } from "../model/output.ts";
import { runBlobs } from "../model/runBlobs.ts";
import { createOrReplace } from "../storage/callSteps.ts";
import { stillWanted } from "./markerWatch.ts";
import type { Attempt, WorkerPorts } from "./ports.ts";

/**
 * What attempts at a pack leave for the next one where chunks failed: the folds of the others (rule *failed chunks*). Whatever
 * is read is right, whoever wrote it last, because it is of the same code and key, and says itself which chunks it has.
 *
 * Not promised: that it is there. Without it the pack is computed whole.
 */
export interface Kept {
  readonly folds: readonly KeptFold[];
  /** It names files that were saved. */
  readonly saves: boolean;
}

export function keptFolds(
  ports: WorkerPorts,
  { message, accepted }: Attempt<MessageOf<"compute">>,
  { code, key }: { readonly code: string; readonly key: string },
) {
  const { blobs } = ports.storage;
  const at = [
    ports.names.runs,
    runBlobs(message.run, message.uid).kept(message.shard, message.pack),
  ] as const;
  const isFirst =
    message.gen === 1 && message.send === 1 && attemptOf(message) === 1 && message.asks === undefined;
  return {
    /** Nothing is there before the first attempt, and no call asks for it. */
    async read(): Promise<Kept | undefined> {
      if (isFirst) return undefined;
      const found = await blobs.read(...at);
      if (found.kind === "missing") return undefined;
      const { contentType, metadata } = found.properties;
      const facts = parseOutputFacts(contentType);
      const isOurs = belongsTo(accepted, facts) && facts.code === code && facts.key === key;
      if (!isOurs || metadata["sha256"] !== hash("sha256", found.body)) return undefined;
      try {
        return { folds: decodeKept(message, found.body), saves: facts.saves === true };
      } catch (error) {
        if (error instanceof CorruptDataError) return undefined;
        throw error;
      }
    },
    /** It saves computing and nothing more, so a failure of it is none of the pack. */
    async write(body: Uint8Array, saves: boolean): Promise<void> {
      const facts = { ms: 0, attempt: attemptOf(message), plan: accepted.plan && planTag(accepted.plan) };
      const write = {
        contentType: outputContentType("application/octet-stream", { ...facts, code, key, saves }),
        metadata: { sha256: hash("sha256", body) },
      };
      await stillWanted(ports, message, "write")
        .then(() => createOrReplace(blobs, at, body, write))
        .catch(() => {});
    },
    /** Once the whole partial is there. */
    async remove(): Promise<void> {
      await blobs.remove(...at).catch(() => {});
    },
  };
}
