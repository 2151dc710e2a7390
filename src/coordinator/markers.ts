import { StorageError } from "../model/errors.ts";
import { logEvents } from "../model/log.ts";
import type { ListedBlob } from "../storage/ports.ts";
import type { CoordinatorPorts } from "./perform.ts";
import type { Ownership } from "./stateChain.ts";

/** True if any run is active: what makes a term worth claiming. */
export async function anyRunActive(
  ports: Pick<CoordinatorPorts, "storage" | "names">,
  signal?: AbortSignal,
): Promise<boolean> {
  let cursor: string | undefined;
  do {
    // A page may be empty and still not be the last one.
    const page = await ports.storage.blobs.list(ports.names.active, "", { pageSize: 1, cursor, signal });
    if (page.blobs.length > 0) return true;
    cursor = page.cursor;
  } while (cursor !== undefined);
  return false;
}

export interface ListedMarkers {
  readonly markers: readonly ListedBlob[];
  readonly pages: number;
  /** Storage's time of the list. */
  readonly nowMs: number;
}

/** All markers with their metadata. Storage that is busy for a while costs a loop, not the term; the lease decides about the term. */
export async function listMarkers(
  ports: CoordinatorPorts,
  leader: Ownership & { readonly signal: AbortSignal },
): Promise<ListedMarkers | "unreachable"> {
  const markers: ListedBlob[] = [];
  let cursor: string | undefined;
  let nowMs = 0;
  let pages = 0;
  try {
    do {
      leader.assertLeading();
      const options = { metadata: true, cursor, signal: leader.lost };
      const page = await ports.storage.blobs.list(ports.names.active, "", options);
      markers.push(...page.blobs);
      cursor = page.cursor;
      nowMs = page.dateMs;
      pages += 1;
    } while (cursor !== undefined);
  } catch (error) {
    if (!(error instanceof StorageError) || error.kind !== "busy") throw error;
    ports.log(logEvents.runSkipped({ run: "*", uid: "", code: error.storageCode, message: error.message }));
    await ports.clock.sleep(1_000, leader.signal);
    return "unreachable";
  }
  return { markers, pages, nowMs };
}
