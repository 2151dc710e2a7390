import { messageOf, StorageError } from "../../model/errors.ts";
import { limits } from "../../model/limits.ts";
import { logEvents } from "../../model/log.ts";
import { expiryBlob } from "../../model/names.ts";
import type { Leader } from "../coordinate.ts";
import type { CoordinatorPorts } from "../perform/perform.ts";
import type { Ownership } from "../perform/stateChain.ts";
import { type Found, lookAtSpec, lookCloser } from "./lookCloser.ts";
import { foldersOn, oldRecords, oldSpecs, type UidFolder, worthALook } from "./sweep.ts";

/**
 * Deletes finished runs once they are old, and what late workers left behind. It works in slices, at the end of a
 * term and once a day on an idle tick, and remembers in this process where it was. Where runs are kept for ever it
 * only deletes what belongs to no run.
 *
 * An old run is not deleted here: its marker is made to say `delete`, and the leader does the rest.
 *
 * Not promised: that a sweep sees every blob. A container that storage does not list is given up for the day.
 */
export interface Expiry {
  /** At the end of a term: true if a sweep is under way here, or none was finished anywhere today (UTC). */
  due(signal?: AbortSignal): Promise<boolean>;
  /**
   * On an idle tick: the same, but storage is asked by the first tick of a day only, that is where the lease record
   * was written last on another one. A new installation, where no sweep was ever made, has nothing worth a term.
   */
  dueWhenIdle(
    poll: { readonly atMs: number; readonly writtenMs: number },
    signal?: AbortSignal,
  ): Promise<boolean>;
  slice(leader: Leader): Promise<void>;
}

interface Page {
  readonly place: number;
  readonly cursor?: string | undefined;
  /** A folder that may go on with this page. */
  readonly open?: UidFolder | undefined;
  /** Tries of this page that storage refused or did not answer. */
  readonly failed?: number;
}

interface Sweep {
  /** The page to read next. */
  page: Page;
  /** What is worth a closer look on the page before it. */
  waiting: (() => Promise<Found>)[];
  /** Storage's time of the latest page; 0 before the first. */
  nowMs: number;
}

type Ports = Pick<CoordinatorPorts, "storage" | "names" | "clock" | "log" | "packLimitMs">;

export function expiry(ports: Ports, keepDays: number): Expiry {
  const { storage, names, clock } = ports;
  const places = [names.runs, names.results];
  const keepMs = keepDays === 0 ? Number.POSITIVE_INFINITY : keepDays * 86_400_000;
  let at: Sweep | undefined;
  let askAgainMs = Number.NEGATIVE_INFINITY;

  /** Reads the next page, and notes what on it is worth a closer look. */
  async function nextPage(sweep: Sweep, leader: Leader): Promise<void> {
    const { place, cursor } = sweep.page;
    const container = places[place] as string;
    const page = await storage.blobs.list(container, "", { cursor, signal: leader.lost });
    const quietMs = limits.hostHidesMs + ports.packLimitMs + limits.lateWritersMs;
    const rules = { nowMs: page.dateMs, keepMs, quietMs };
    sweep.nowMs = page.dateMs;
    const { ended, open } = foldersOn(page.blobs, sweep.page.open);
    const last = page.cursor === undefined;
    for (const folder of last && open !== undefined ? [...ended, open] : ended) {
      const why = worthALook(folder, rules);
      if (why.expired || why.quiet) sweep.waiting.push(() => lookCloser(ports, leader, folder, why, rules));
    }
    for (const id of oldSpecs(page.blobs, rules))
      sweep.waiting.push(() => lookAtSpec(ports, leader, id, rules));
    const records = oldRecords(page.blobs, rules);
    if (records.length > 0) sweep.waiting.push(() => removeRecords(ports, leader, container, records));
    sweep.page = last ? { place: place + 1 } : { place, cursor: page.cursor, open };
  }

  /** A page that storage does not give would otherwise be asked for at each tick, for ever. */
  async function tryNextPage(sweep: Sweep, leader: Leader): Promise<void> {
    try {
      await nextPage(sweep, leader);
    } catch (error) {
      if (!(error instanceof StorageError)) throw error;
      const { page } = sweep;
      const failed = (page.failed ?? 0) + 1;
      const givenUp = failed >= limits.expiryPageTries;
      const container = places[page.place] as string;
      ports.log(logEvents.expiryFailed({ container, message: messageOf(error), givenUp }));
      sweep.page = givenUp ? { place: page.place + 1 } : { ...page, failed };
    }
  }

  async function due(ifNever: boolean, signal?: AbortSignal): Promise<boolean> {
    if (at !== undefined) return true;
    if (clock.monotonicMs() < askAgainMs) return false;
    const found = await storage.blobs.head(names.runs, expiryBlob, { signal });
    if (found.kind === "missing") return ifNever;
    if (dayOf(found.properties.lastModifiedMs) < dayOf(found.dateMs)) return true;
    askTomorrow(found.dateMs);
    return false;
  }

  const askTomorrow = (nowMs: number): void => {
    askAgainMs = clock.monotonicMs() + limits.expiryEveryMs - (nowMs % limits.expiryEveryMs);
  };

  return {
    due: (signal) => due(true, signal),
    dueWhenIdle: async ({ atMs, writtenMs }, signal) =>
      at !== undefined || (dayOf(writtenMs) < dayOf(atMs) && (await due(false, signal))),

    async slice(leader) {
      at ??= { page: { place: 0 }, waiting: [], nowMs: 0 };
      if (at.waiting.length === 0 && at.page.place < places.length) await tryNextPage(at, leader);
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
      const whole = at.waiting.length === 0 && at.page.place >= places.length;
      ports.log(logEvents.expirySwept({ ...told, whole }));
      if (!whole) return;
      // Also where the stamp is refused this process is done for the day.
      askTomorrow(at.nowMs);
      at = undefined;
      await stamp(ports, leader);
    },
  };
}

async function removeRecords(
  { storage }: Ports,
  owner: Ownership,
  container: string,
  names: readonly string[],
): Promise<Found> {
  owner.assertLeading();
  await storage.blobs.removeMany(container, names, { signal: owner.lost });
  return "orphan";
}

const dayOf = (ms: number): number => Math.floor(ms / limits.expiryEveryMs);

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
