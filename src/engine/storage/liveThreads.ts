import { isUnreadable } from "../model/errors.ts";
import { type Names, signBlobs } from "../model/names.ts";
import { decodeSign, isLive, type Sign } from "../model/sign.ts";
import { pagesOf } from "./callSteps.ts";
import { isContainerOrQueueMissing } from "./createOnDemand.ts";
import type { BlobStore, ListedBlob } from "./ports.ts";

/**
 * The processes that tell of work now, and their threads: one list call for up to 5,000 of them. One that computes nothing for
 * long tells nothing, so a fleet that rests is not seen.
 */
export async function liveThreads(
  { blobs }: { readonly blobs: BlobStore },
  { coordination }: Names,
): Promise<{ readonly instances: number; readonly threads: number }> {
  let instances = 0;
  let threads = 0;
  try {
    for await (const page of pagesOf(blobs, coordination, signBlobs, { metadata: true })) {
      const live = page.blobs.flatMap((blob) => liveSign(blob, page.dateMs) ?? []);
      instances += live.length;
      threads += live.reduce((sum, one) => sum + one.threads, 0);
    }
  } catch (error) {
    // Nobody has worked here yet.
    if (!isContainerOrQueueMissing(error)) throw error;
  }
  return { instances, threads };
}

function liveSign({ name, metadata, lastModifiedMs }: ListedBlob, nowMs: number): Sign | undefined {
  try {
    const sign = decodeSign(metadata, name);
    return isLive(sign, lastModifiedMs, nowMs) && sign.threads > 0 ? sign : undefined;
  } catch (error) {
    if (isUnreadable(error)) return undefined;
    throw error;
  }
}
