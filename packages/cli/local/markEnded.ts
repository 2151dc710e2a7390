import { heartbeatBlobs, parseHeartbeatBlob } from "../../../src/engine/model/names.ts";
import { decodeHeartbeat, encodeHeartbeat } from "../../../src/engine/model/workerHeartbeat.ts";
import type { BlobStore, Storage } from "../../../src/engine/storage/ports.ts";
import { systemClock } from "../../../src/engine/storage/system.ts";
import type { HeldMessage } from "../../../src/host/instanceMessages.ts";

/** What a supervisor does in storage for processes that have ended, one after the other. */
export interface EndMarks {
  /** Marks its heartbeat, and has the messages come back whose invocations failed with it, as the real host does. */
  ended(instance: string, how: string, failed: readonly HeldMessage[], visibleInS: number): void;
  /** Resolves when all are made, or after a second: a heartbeat without a mark goes stale by itself. */
  settled(): Promise<void>;
}

export function endMarks({ blobs, queues }: Storage, coordination: string): EndMarks {
  let marking: Promise<unknown> = Promise.resolve();
  return {
    ended(instance, how, failed, visibleInS) {
      const released = failed.map(({ queue, id, receipt }) =>
        queues.update(queue, id, receipt, { visibleInS }),
      );
      marking = Promise.allSettled([marking, markEnded(blobs, coordination, instance, how), ...released]);
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
 * Says in the heartbeats that an ended process has left how it ended, so that the leader sends its work again at once and people
 * see why. A planned stop leaves none.
 */
export async function markEnded(
  blobs: BlobStore,
  coordination: string,
  instance: string,
  ended: string,
): Promise<void> {
  for (let tried = 0; tried < markTries; tried += 1) {
    const { blobs: heartbeats } = await blobs.list(coordination, heartbeatBlobs, { metadata: true });
    const own = heartbeats.filter(({ name }) => parseHeartbeatBlob(name).instance === instance);
    const marks = own.map(async ({ name, metadata, etag }) => {
      const heartbeat = decodeHeartbeat(metadata, name);
      if (heartbeat.ended !== undefined) return "replaced";
      const marked = encodeHeartbeat({ ...heartbeat, ended });
      return (await blobs.setMetadata(coordination, name, marked, { ifMatch: etag })).kind;
    });
    const done = await Promise.allSettled(marks);
    if (!done.some((one) => one.status === "fulfilled" && one.value === "conflict")) return;
  }
}
