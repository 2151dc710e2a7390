import { isUnreadable } from "../model/errors.ts";
import { heartbeatBlobs, type Names } from "../model/names.ts";
import { decodeHeartbeat, isLive, type WorkerHeartbeat } from "../model/workerHeartbeat.ts";
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
    for await (const page of pagesOf(blobs, coordination, heartbeatBlobs, { metadata: true })) {
      const live = page.blobs.flatMap((blob) => liveHeartbeat(blob, page.dateMs) ?? []);
      instances += live.length;
      threads += live.reduce((sum, one) => sum + one.threads, 0);
    }
  } catch (error) {
    // Nobody has worked here yet.
    if (!isContainerOrQueueMissing(error)) throw error;
  }
  return { instances, threads };
}

function liveHeartbeat(
  { name, metadata, lastModifiedMs }: ListedBlob,
  nowMs: number,
): WorkerHeartbeat | undefined {
  try {
    const heartbeat = decodeHeartbeat(metadata, name);
    return isLive(heartbeat, lastModifiedMs, nowMs) && heartbeat.threads > 0 ? heartbeat : undefined;
  } catch (error) {
    if (isUnreadable(error)) return undefined;
    throw error;
  }
}
