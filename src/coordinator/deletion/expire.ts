import { decodeJson, wireVersion } from "../../model/decode.ts";
import { CorruptDataError, messageOf, NewerVersionError, StorageError } from "../../model/errors.ts";
import { limits } from "../../model/limits.ts";
import { logEvents } from "../../model/log.ts";
import { expiryBlob, sweepBlob } from "../../model/names.ts";
import { specBlob } from "../../model/runBlobs.ts";
import type { CallOptions } from "../../storage/calls.ts";
import type { BlobStore } from "../../storage/ports.ts";
import type { CoordinatorPorts, Leader } from "../term.ts";
import {
  type Found,
  folderName,
  foldersOn,
  inspectFolder,
  inspectSpec,
  isTime,
  oldOn,
  type Page,
  pageSchema,
  type SweepTerm,
  whyInspect,
} from "./sweep.ts";

/**
 * Deletes finished runs once they are old, and what late workers left behind. It works in slices, at the end of a
 * term, once a minute beside runs and once a day on an idle tick, and continues in the next term where it was, in
 * whatever process. Where runs are kept for ever it only deletes what belongs to no run. An old run is not deleted
 * here: its marker is made to say `delete`. Not promised: that a sweep sees every blob. A container that storage does
 * not list is given up for the day.
 */
export type Expiry = ReturnType<typeof expiry>;

/** What is to be inspected of a page, in the order of names. */
interface Waiting {
  readonly name: string;
  inspect(term: SweepTerm): Promise<Found>;
}
/** The name of what belongs to no run, and is deleted unread. */
const afterRuns = "~";

interface Sweep {
  /** The term that it was read or begun in. */
  readonly term: number;
  /** Of the blob that it was read from. */
  readonly etag: string | undefined;
  /** The page to read next; absent once all were read. */
  page: Page | undefined;
  /** What is to be inspected of the page before it. */
  waiting: Waiting[];
  before: Page | undefined;
  /** Storage's time of the latest page; 0 before the first. */
  nowMs: number;
}

type Ports = Pick<CoordinatorPorts, "storage" | "names" | "clock" | "log" | "packLimitMs">;

export function expiry(ports: Ports, keepDays: number) {
  const { storage, names, clock } = ports;
  const keepMs = keepDays === 0 ? Number.POSITIVE_INFINITY : keepDays * 86_400_000;
  let sweep: Sweep | undefined;
  let askAgainMs = Number.NEGATIVE_INFINITY;

  const askTomorrow = (nowMs: number): void => {
    askAgainMs = clock.monotonicMs() + limits.expiryEveryMs - (nowMs % limits.expiryEveryMs);
  };

  async function due(ifNever: boolean, signal?: AbortSignal): Promise<boolean> {
    if (clock.monotonicMs() < askAgainMs) return false;
    const found = await storage.blobs.head(names.runs, expiryBlob, { signal });
    if (found.kind === "missing") return ifNever;
    if (dayOf(found.properties.lastModifiedMs) < dayOf(found.dateMs)) return true;
    askTomorrow(found.dateMs);
    sweep = undefined;
    return false;
  }

  return {
    /** In a term: true if it has a sweep under way, or none was finished anywhere today (UTC). */
    due: async ({ term, lost }: Pick<Leader, "term" | "lost">): Promise<boolean> =>
      sweep?.term === term || (await due(true, lost)),
    /**
     * On an idle tick: the same, but storage is asked only where this process left a sweep, and on the first tick of a day,
     * that is where the lease record was last written on another day. A new installation, where no sweep was ever made, has
     * nothing worth a term.
     */
    dueWhenIdle: async (
      { atMs, writtenMs }: { readonly atMs: number; readonly writtenMs: number },
      signal?: AbortSignal,
    ): Promise<boolean> =>
      (sweep !== undefined || dayOf(writtenMs) < dayOf(atMs)) && (await due(sweep !== undefined, signal)),

    /** Inspects so many at most, for about a second: runs that are at work wait meanwhile. */
    async slice(leader: Leader, inspectedMax: number = limits.expiryRunsMax): Promise<void> {
      const term = { ...ports, leader, untilMs: clock.monotonicMs() + limits.expirySliceMs };
      if (sweep?.term !== leader.term) sweep = await continued(term);
      const { page, etag: ifMatch } = sweep;
      if (sweep.waiting.length === 0 && page !== undefined) await tryPage(term, sweep, page, keepMs);
      const found = await inspectWaiting(term, sweep, inspectedMax);
      if (found === "aborted") return;
      const whole = sweep.waiting.length === 0 && sweep.page === undefined;
      ports.log(logEvents.expirySwept({ ...found, whole }));
      if (!whole) return;
      // This process is done for the day, also where storage refuses the stamp.
      askTomorrow(sweep.nowMs);
      sweep = undefined;
      // Only the place that this term read: a later leader may have left its own.
      if (ifMatch) await storage.blobs.remove(names.runs, sweepBlob, { signal: leader.lost, ifMatch });
      await stamp(term);
    },

    /** At the end of a term: keeps how far its sweep came, for whoever leads next. */
    async keep({ term, lost }: Pick<Leader, "term" | "lost">): Promise<void> {
      const page = sweep?.term === term ? pageToContinue(sweep) : undefined;
      if (page === undefined || lost.aborted) return;
      const blob = [names.runs, sweepBlob, JSON.stringify(page)] as const;
      // In the place of what this term read: a later leader may have come further.
      const ifMatch = sweep?.etag;
      const kept =
        ifMatch === undefined
          ? storage.blobs.create(...blob, { signal: lost })
          : storage.blobs.replace(...blob, { signal: lost, ifMatch });
      await kept.catch((error) => logRefused(ports, error));
    },
  };
}

/** The sweep where the terms before left it; a new one, in its place, where they left none that is readable. */
async function continued({ storage, names, leader }: SweepTerm): Promise<Sweep> {
  const found = await storage.blobs.read(names.runs, sweepBlob, { signal: leader.lost });
  const [etag, left] = found.kind === "missing" ? [] : [found.properties.etag, pageOf(found.body, names)];
  const page = left ?? { v: wireVersion, container: names.runs };
  return { term: leader.term, etag, page, waiting: [], before: undefined, nowMs: 0 };
}

function pageOf(body: Uint8Array, { runs, results }: Ports["names"]): Page | undefined {
  try {
    const page = decodeJson(pageSchema, body, sweepBlob);
    return [runs, results].includes(page.container) ? page : undefined;
  } catch (error) {
    if (error instanceof CorruptDataError || error instanceof NewerVersionError) return undefined;
    throw error;
  }
}

/**
 * A page of which something waits is read again, and what is before that is left out. It may then reach further, as blobs
 * were deleted, so the folder that was open at its end is not left out.
 */
function pageToContinue({ page, waiting: [next], before }: Sweep): Page | undefined {
  if (next === undefined || before === undefined) return page;
  const open = page?.open === undefined ? afterRuns : folderName(page.open);
  return { ...before, from: next.name < open ? next.name : open };
}

/** What storage refuses is logged; anything else is thrown. */
function logRefused({ log }: Pick<Ports, "log">, error: unknown): void {
  if (!(error instanceof StorageError)) throw error;
  log(logEvents.unexpected({ where: "expiry", message: messageOf(error) }));
}

const pageAfter = ({ names }: Ports, { container }: Page): Page | undefined =>
  container === names.runs ? { v: wireVersion, container: names.results } : undefined;

/** Reads a page. One that storage does not give would otherwise be asked for at each tick, for ever. */
async function tryPage(term: SweepTerm, sweep: Sweep, page: Page, keepMs: number): Promise<void> {
  try {
    await readPage(term, sweep, page, keepMs);
  } catch (error) {
    if (!(error instanceof StorageError)) throw error;
    const failed = (page.failed ?? 0) + 1;
    const givenUp = failed >= limits.expiryPageTries;
    term.log(logEvents.expiryFailed({ container: page.container, message: messageOf(error), givenUp }));
    sweep.page = givenUp ? pageAfter(term, page) : { ...page, failed };
  }
}

/** Reads a page, and notes what is to be inspected of it. */
async function readPage(term: SweepTerm, sweep: Sweep, page: Page, keepMs: number): Promise<void> {
  const { storage, leader, packLimitMs } = term;
  const { container } = page;
  const found = await storage.blobs.list(container, "", { cursor: page.cursor, signal: leader.lost });
  const quietMs = limits.hostHidesMs + packLimitMs + limits.lateWritersMs;
  const rules = { nowMs: found.dateMs, keepMs, quietMs };
  sweep.nowMs = found.dateMs;
  const { ended, open } = foldersOn(found.blobs, page.open);
  const last = found.cursor === undefined;
  const wait = (name: string, inspect: Waiting["inspect"]): void => {
    if (name >= (page.from ?? "")) sweep.waiting.push({ name, inspect });
  };
  for (const folder of last && open !== undefined ? [...ended, open] : ended) {
    const why = whyInspect(folder, rules);
    if (why.expired || why.quiet) wait(folderName(folder), (of) => inspectFolder(of, folder, why, rules));
  }
  const { specIds, records, summaries } = oldOn(found.blobs, rules);
  for (const id of specIds) wait(specBlob(id), (of) => inspectSpec(of, id, rules));
  sweep.waiting.sort((a, b) => (a.name < b.name ? -1 : 1));
  const orphan = (remove: (blobs: BlobStore, during: CallOptions) => Promise<unknown>) =>
    wait(afterRuns, async ({ storage: { blobs }, leader }) => {
      leader.assertLeading();
      await remove(blobs, { signal: leader.lost });
      return "orphan";
    });
  if (records.length > 0) orphan((blobs, during) => blobs.removeMany(container, records, during));
  // In the version that was listed: a retry may have ended meanwhile, and its run is listed by this summary again.
  for (const { name, etag } of summaries)
    orphan((blobs, during) => blobs.remove(container, name, { ...during, ifMatch: etag }));
  sweep.before = page;
  sweep.page = last ? pageAfter(term, page) : { v: wireVersion, container, cursor: found.cursor, open };
}

/** Inspects what waits, as much as one slice may, and counts what was found. */
async function inspectWaiting(term: SweepTerm, { waiting }: Sweep, inspectedMax: number) {
  const found: Found[] = [];
  for (let inspected = 0; inspected < inspectedMax && waiting.length > 0 && isTime(term); ) {
    if (term.leader.signal.aborted) return "aborted" as const;
    const some = waiting.splice(0, limits.expiryReadsAtOnce);
    inspected += some.length;
    const each = await Promise.all(some.map((one) => orKept(term, one)));
    found.push(...each);
    // What takes longer is continued in the next slice.
    waiting.unshift(...some.filter((_, index) => each[index] === "more"));
    term.leader.assertLeading();
    term.leader.progress();
  }
  const count = (what: Found) => found.filter((one) => one === what).length;
  return { expired: count("expired"), orphans: count("orphan") };
}

const dayOf = (ms: number): number => Math.floor(ms / limits.expiryEveryMs);

/** One that does not decode is kept. One that storage refuses is kept too, and does not keep the others. */
async function orKept(term: SweepTerm, { inspect }: Waiting): Promise<Found> {
  try {
    return await inspect(term);
  } catch (error) {
    if (!(error instanceof CorruptDataError || error instanceof NewerVersionError)) logRefused(term, error);
    return "kept";
  }
}

/** Writes the blob whose date says when the last sweep ended. */
async function stamp({ storage, names, leader }: SweepTerm): Promise<void> {
  leader.assertLeading();
  const { lost: signal } = leader;
  const found = await storage.blobs.head(names.runs, expiryBlob, { signal });
  if (found.kind === "missing") await storage.blobs.create(names.runs, expiryBlob, "", { signal });
  else await storage.blobs.replace(names.runs, expiryBlob, "", { signal, ifMatch: found.properties.etag });
}
