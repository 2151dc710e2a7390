import { messageOf, StorageError } from "../../model/errors.ts";
import { limits } from "../../model/limits.ts";
import { logEvents } from "../../model/log.ts";
import { expiryBlob } from "../../model/names.ts";
import type { Leader } from "../coordinate.ts";
import type { CoordinatorPorts } from "../perform.ts";
import type { Ownership } from "../stateChain.ts";
import { type Found, lookAtSpec, lookCloser } from "./lookCloser.ts";
import { foldersOn, oldRecords, oldSpecs, type UidFolder, worthALook } from "./sweep.ts";

/**
 * Deletes finished runs once they are old, and what late workers left behind. It works in slices, at the end of a
 * term and once a day on an idle tick, and remembers in this process where it was.
 *
 * An old run is not deleted here: its marker is made to say `delete`, and the leader does the rest.
 */
export interface Expiry {
  /**
   * True if a sweep is under way here, or none was finished anywhere for a day. Where there never was one, `never`
   * decides: the first term's end makes one, and a new installation has nothing worth a term.
   */
  due(never: boolean, signal?: AbortSignal): Promise<boolean>;
  slice(leader: Leader): Promise<void>;
}

interface Sweep {
  place: number;
  cursor: string | undefined;
  /** A folder that may go on with the next page. */
  open: UidFolder | undefined;
  /** What is worth a closer look on the page at hand. */
  waiting: (() => Promise<Found>)[];
}

type Ports = Pick<CoordinatorPorts, "storage" | "names" | "clock" | "log" | "packLimitMs">;

export function expiry(ports: Ports, keepDays: number): Expiry {
  const { storage, names, clock } = ports;
  const places = [names.runs, names.results];
  let at: Sweep | undefined;
  let askAgainMs = Number.NEGATIVE_INFINITY;

  /** Reads the next page, and notes what on it is worth a closer look. */
  async function nextPage(sweep: Sweep, leader: Leader): Promise<void> {
    const container = places[sweep.place] as string;
    const page = await storage.blobs.list(container, "", { cursor: sweep.cursor, signal: leader.lost });
    const quietMs = limits.hostHidesMs + ports.packLimitMs + limits.lateWritersMs;
    const rules = { nowMs: page.dateMs, keepMs: keepDays * 86_400_000, quietMs };
    const { ended, open } = foldersOn(page.blobs, sweep.open);
    const last = page.cursor === undefined;
    for (const folder of last && open !== undefined ? [...ended, open] : ended) {
      const why = worthALook(folder, rules);
      if (why.expired || why.quiet) sweep.waiting.push(() => lookCloser(ports, leader, folder, why));
    }
    for (const id of oldSpecs(page.blobs, rules)) sweep.waiting.push(() => lookAtSpec(ports, leader, id));
    const records = oldRecords(page.blobs, rules);
    leader.assertLeading();
    if (records.length > 0) await storage.blobs.removeMany(container, records, { signal: leader.lost });
    sweep.place += last ? 1 : 0;
    sweep.cursor = page.cursor;
    sweep.open = last ? undefined : open;
  }

  return {
    async due(never, signal) {
      if (keepDays === 0) return false;
      if (at !== undefined) return true;
      if (clock.monotonicMs() < askAgainMs) return false;
      const found = await storage.blobs.head(names.runs, expiryBlob, { signal });
      if (found.kind === "missing") return never;
      const ageMs = found.dateMs - found.properties.lastModifiedMs;
      askAgainMs = clock.monotonicMs() + Math.max(0, limits.expiryEveryMs - ageMs);
      return ageMs >= limits.expiryEveryMs;
    },

    async slice(leader) {
      at ??= { place: 0, cursor: undefined, open: undefined, waiting: [] };
      if (at.waiting.length === 0 && at.place < places.length) await nextPage(at, leader);
      const told = { expired: 0, orphans: 0 };
      for (let looked = 0; looked < limits.expiryRunsMax && at.waiting.length > 0; ) {
        if (leader.signal.aborted) return;
        const some = at.waiting.splice(0, limits.expiryReadsAtOnce);
        looked += some.length;
        for (const found of await Promise.all(some.map((one) => orKept(ports, one)))) {
          if (found === "expired") told.expired += 1;
          if (found === "orphan") told.orphans += 1;
        }
        leader.assertLeading();
        leader.progress();
      }
      const whole = at.waiting.length === 0 && at.place >= places.length;
      if (whole) await stamp(ports, leader);
      ports.log(logEvents.expirySwept({ ...told, whole }));
      if (whole) at = undefined;
    },
  };
}

/** One that storage does not let go of keeps no other. */
async function orKept(ports: Ports, one: () => Promise<Found>): Promise<Found> {
  try {
    return await one();
  } catch (error) {
    if (!(error instanceof StorageError)) throw error;
    ports.log(logEvents.unexpected({ where: "expiry", message: messageOf(error) }));
    return "kept";
  }
}

/** Its date says when the last sweep ended. */
async function stamp({ storage, names }: Ports, owner: Ownership): Promise<void> {
  owner.assertLeading();
  const { lost: signal } = owner;
  const found = await storage.blobs.head(names.runs, expiryBlob, { signal });
  if (found.kind === "missing") await storage.blobs.create(names.runs, expiryBlob, "", { signal });
  else await storage.blobs.replace(names.runs, expiryBlob, "", { signal, ifMatch: found.properties.etag });
}
