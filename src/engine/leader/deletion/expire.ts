import { closedBlob, closedBlobs, parseClosed } from "../../model/closedRun.ts";
import { isUnreadable, messageOf, StorageError } from "../../model/errors.ts";
import { limits } from "../../model/limits.ts";
import { logEvents } from "../../model/log.ts";
import { encodeMarker } from "../../model/marker.ts";
import { expiryBlob } from "../../model/names.ts";
import { specSchema } from "../../model/run.ts";
import { runBlobs, specBlob } from "../../model/runBlobs.ts";
import { isFinal, stateSchema } from "../../model/state.ts";
import { readDocument } from "../../storage/callSteps.ts";
import type { ListedBlob } from "../../storage/ports.ts";
import type { CoordinatorPorts, Leader } from "../term.ts";

/**
 * Asks for the deletion of runs that ended long ago: once a day (UTC) their summaries are listed, and the marker of each old
 * one is made to say `delete`. It works in slices, at the end of a term and beside runs. Whoever lists next begins anew; what
 * was deleted is in no list any more.
 *
 * Not promised: that anything without a summary goes. The lifecycle rule of the account takes what late writers left.
 */
export type Expiry = ReturnType<typeof expiry>;

type Ports = Pick<CoordinatorPorts, "storage" | "names" | "clock" | "log">;
type Old = Pick<ListedBlob, "name" | "etag">;

interface Sweep {
  /** The term that it was begun in. */
  readonly term: number;
  /** Where the next page begins; absent once all were read. */
  page: { readonly cursor: string | undefined } | undefined;
  /** Summaries whose runs are to be judged. */
  old: Old[];
  /** Storage's time of the latest page; 0 before the first. */
  nowMs: number;
}

/** Of `LEASEFOLD_KEEP_DAYS`. */
const dayMs = 86_400_000;

export function expiry(ports: Ports, keepDays: number) {
  const { storage, names, clock, log } = ports;
  const keepMs = keepDays * dayMs;
  let sweep: Sweep | undefined;
  let askAgainMs = Number.NEGATIVE_INFINITY;

  const askTomorrow = (nowMs: number): void => {
    askAgainMs = clock.monotonicMs() + limits.expiryEveryMs - (nowMs % limits.expiryEveryMs);
    sweep = undefined;
  };

  async function due(ifNever: boolean, signal?: AbortSignal): Promise<boolean> {
    if (keepDays === 0 || clock.monotonicMs() < askAgainMs) return false;
    const found = await storage.blobs.head(names.runs, expiryBlob, { signal });
    if (found.kind === "missing") return ifNever;
    if (dayOf(found.properties.lastModifiedMs) < dayOf(found.dateMs)) return true;
    askTomorrow(found.dateMs);
    return false;
  }

  return {
    /** In a term: true if it has a sweep under way, or none was finished anywhere today. */
    due: async ({ term, lost }: Pick<Leader, "term" | "lost">): Promise<boolean> =>
      sweep?.term === term || (await due(true, lost)),
    /**
     * On an idle tick: the same, but storage is asked only where this process left a sweep, and on the first tick of a day,
     * that is where the lease record was last written on another day. A new installation has nothing worth a term.
     */
    dueWhenIdle: async (
      { atMs, writtenMs }: { readonly atMs: number; readonly writtenMs: number },
      signal?: AbortSignal,
    ): Promise<boolean> =>
      (sweep !== undefined || dayOf(writtenMs) < dayOf(atMs)) && (await due(sweep !== undefined, signal)),

    /** Lists one page where no old run is left of the one before, and judges a few runs. */
    async slice(leader: Leader): Promise<void> {
      if (sweep?.term !== leader.term)
        sweep = { term: leader.term, page: { cursor: undefined }, old: [], nowMs: 0 };
      const { page } = sweep;
      if (sweep.old.length === 0 && page !== undefined) {
        const during = { cursor: page.cursor, signal: leader.lost };
        const found = await storage.blobs.list(names.runs, closedBlobs, during);
        sweep.old = found.blobs.filter(({ lastModifiedMs }) => found.dateMs - lastModifiedMs > keepMs);
        sweep.nowMs = found.dateMs;
        sweep.page = found.cursor === undefined ? undefined : { cursor: found.cursor };
      }
      const judged = sweep.old.splice(0, limits.expiryReadsAtOnce);
      const asked = await Promise.all(judged.map((one) => askIfOld(ports, leader, one, keepMs)));
      leader.progress();
      const whole = sweep.old.length === 0 && sweep.page === undefined;
      log(logEvents.expirySwept({ expired: asked.filter(Boolean).length, whole }));
      if (!whole) return;
      // This process is done for the day, also where storage refuses the stamp.
      askTomorrow(sweep.nowMs);
      await stamp(ports, leader);
    },

    /** What storage refuses waits for the next day of this process: otherwise each tick would claim a term for it. */
    refused(error: unknown): void {
      if (!(error instanceof StorageError)) throw error;
      askTomorrow(clock.wallMs());
      log(logEvents.unexpected({ where: "expiry", message: messageOf(error) }));
    },
  };
}

const dayOf = (ms: number): number => Math.floor(ms / limits.expiryEveryMs);

/**
 * True if the deletion of this run was asked for. The list is minutes old by now, so the age is judged again by the state. A
 * run whose documents do not decode is kept, as is one that storage refuses, which keeps no other from expiring.
 */
async function askIfOld(ports: Ports, leader: Leader, { name, etag }: Old, keepMs: number): Promise<boolean> {
  const { storage, names, log } = ports;
  const id = parseClosed(name)?.id;
  if (id === undefined) return false;
  const during = { signal: leader.lost };
  try {
    const spec = await readDocument(storage.blobs, [names.runs, specBlob(id)], specSchema, during);
    if (spec === undefined || closedBlob(id, spec.lastModifiedMs) !== name) {
      // A run that has lost its spec is deleted by a person only.
      if (spec === undefined && (await hasBlobs(ports, leader, id))) return false;
      // A deposed leader left it of a run that is deleted. Whoever wrote it anew meanwhile is right.
      leader.assertLeading();
      await storage.blobs.remove(names.runs, name, { ...during, ifMatch: etag });
      return false;
    }
    const { uid } = spec.value;
    const state = await readDocument(
      storage.blobs,
      [names.runs, runBlobs(id, uid).state],
      stateSchema,
      during,
    );
    if (state !== undefined && !isFinal(state.value.phase)) return false;
    if (state !== undefined && state.dateMs - state.lastModifiedMs <= keepMs) return false;
    const { generation = 1, cap = 1, turn = 0, command = 0 } = state?.value ?? {};
    const own = { uid, generation, cap, turn, command: command + 1, judged: state?.etag };
    const metadata = encodeMarker({ ...own, want: "delete", by: "expiry" });
    leader.assertLeading();
    // Create-only, so that it meets a retry or a submit of the same moment like any other command.
    return (await storage.blobs.create(names.active, id, "", { ...during, metadata })).kind === "created";
  } catch (error) {
    if (isUnreadable(error)) return false;
    if (!(error instanceof StorageError)) throw error;
    log(logEvents.unexpected({ where: "expiry", message: messageOf(error) }));
    return false;
  }
}

const hasBlobs = async ({ storage, names }: Ports, { lost: signal }: Leader, id: string): Promise<boolean> =>
  (await storage.blobs.list(names.runs, `${id}/`, { signal, pageSize: 1 })).blobs.length > 0;

/** Writes the blob whose date says when the last sweep ended. */
async function stamp({ storage, names }: Ports, leader: Leader): Promise<void> {
  leader.assertLeading();
  const { lost: signal } = leader;
  const found = await storage.blobs.head(names.runs, expiryBlob, { signal });
  if (found.kind === "missing") await storage.blobs.create(names.runs, expiryBlob, "", { signal });
  else await storage.blobs.replace(names.runs, expiryBlob, "", { signal, ifMatch: found.properties.etag });
}
