import { parseSignBlob, signBlobs } from "../../../src/engine/model/names.ts";
import { decodeSign, encodeSign } from "../../../src/engine/model/sign.ts";
import type { BlobStore } from "../../../src/engine/storage/ports.ts";
import { systemClock } from "../../../src/engine/storage/system.ts";

/** A supervisor's marks in the signs of processes that have ended, one after the other. */
export interface EndMarks {
  ended(instance: string, how: string): void;
  /** Resolves when all are made, or after a second: a sign without a mark goes stale by itself. */
  settled(): Promise<void>;
}

export function endMarks(blobs: BlobStore, coordination: string): EndMarks {
  let marking: Promise<unknown> = Promise.resolve();
  return {
    ended(instance, how) {
      marking = Promise.allSettled([marking, markEnded(blobs, coordination, instance, how)]);
    },
    async settled() {
      await Promise.race([marking, systemClock.sleep(markMsMax)]);
    },
  };
}

const markMsMax = 1_000;
/** The last call of a process may come after it, and then moves the ETag. */
const markTries = 3;

/**
 * Says in the signs that an ended process has left how it ended, so that the leader sends its work again at once and people
 * see why. A planned stop leaves none.
 */
export async function markEnded(
  blobs: BlobStore,
  coordination: string,
  instance: string,
  ended: string,
): Promise<void> {
  for (let tried = 0; tried < markTries; tried += 1) {
    const { blobs: signs } = await blobs.list(coordination, signBlobs, { metadata: true });
    const own = signs.filter(({ name }) => parseSignBlob(name).instance === instance);
    const marks = own.map(async ({ name, metadata, etag }) => {
      const sign = decodeSign(metadata, name);
      if (sign.ended !== undefined) return "replaced";
      const marked = encodeSign({ ...sign, ended });
      return (await blobs.setMetadata(coordination, name, marked, { ifMatch: etag })).kind;
    });
    const done = await Promise.allSettled(marks);
    if (!done.some((one) => one.status === "fulfilled" && one.value === "conflict")) return;
  }
}
