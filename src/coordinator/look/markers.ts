import { StorageError } from "../../model/errors.ts";
import { logEvents } from "../../model/log.ts";
import { runIdPattern } from "../../model/names.ts";
import type { ListedBlob } from "../../storage/ports.ts";
import { rests } from "../decide/rest.ts";
import type { CoordinatorPorts } from "../perform/perform.ts";
import type { Ownership } from "../perform/stateChain.ts";
import type { TroubledRuns } from "../perform/trouble.ts";

/** True if a leader has something to do for any run: what makes a term worth claiming. */
export async function anyRunToLead(
  ports: Pick<CoordinatorPorts, "storage" | "names">,
  signal?: AbortSignal,
): Promise<boolean> {
  let cursor: string | undefined;
  do {
    // A page may be empty and still not be the last one.
    const page = await ports.storage.blobs.list(ports.names.active, "", { metadata: true, cursor, signal });
    if (page.blobs.some((marker) => isMarker(marker) && !rests(marker))) return true;
    cursor = page.cursor;
  } while (cursor !== undefined);
  return false;
}

/** Nothing but a stranger, or a forged message to an older version, makes a blob here whose name is no run's id. */
const isMarker = ({ name }: ListedBlob): boolean => runIdPattern.test(name);

/** Such blobs that a leader has told of, by its term. */
const toldStrays = new WeakMap<Ownership, Set<string>>();

function tellStray({ log }: Pick<CoordinatorPorts, "log">, leader: Ownership, blob: ListedBlob): void {
  const told = toldStrays.get(leader) ?? new Set();
  toldStrays.set(leader, told);
  const name = blob.name.slice(0, 80);
  if (!told.has(name)) log(logEvents.strayMarker({ name, term: leader.term }));
  told.add(name);
}

export interface ListedMarkers {
  /** Without those of runs at rest, and without blobs that are none. */
  readonly markers: readonly ListedBlob[];
  readonly pages: number;
  /** Storage's time of the list. */
  readonly nowMs: number;
}

/** The markers with their metadata. Storage that is busy for a while costs a loop, not the term; the lease decides about the term. */
export async function listMarkers(
  ports: CoordinatorPorts,
  leader: Ownership & { readonly signal: AbortSignal },
  troubled: TroubledRuns,
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
      for (const blob of page.blobs) {
        if (!isMarker(blob)) tellStray(ports, leader, blob);
        else if (!rests(blob)) markers.push(blob);
      }
      cursor = page.cursor;
      nowMs = page.dateMs;
      pages += 1;
    } while (cursor !== undefined);
  } catch (error) {
    if (!(error instanceof StorageError) || error.kind !== "busy") throw error;
    if (troubled.add({ name: "*", etag: "" }, ports.clock.monotonicMs()))
      ports.log(logEvents.runSkipped({ run: "*", uid: "", code: error.storageCode, message: error.message }));
    await ports.clock.sleep(1_000, leader.signal);
    return "unreachable";
  }
  return { markers, pages, nowMs };
}
