import * as z from "zod";
import { closedBlobs } from "../../model/closedRun.ts";
import { idSchema, wireVersion } from "../../model/decode.ts";
import { limits } from "../../model/limits.ts";
import { encodeMarker, type Marker } from "../../model/marker.ts";
import { droppedBlobs } from "../../model/names.ts";
import { manifestSchema, specSchema } from "../../model/run.ts";
import { resultBlobs, runBlobs, specBlob } from "../../model/runBlobs.ts";
import { isFinal, stateSchema } from "../../model/state.ts";
import { readDocument, type StoredDocument } from "../../storage/callSteps.ts";
import type { ListedBlob } from "../../storage/ports.ts";
import type { Term } from "../term.ts";
import { type DeletingTerm, deleteUnder } from "./deleteRun.ts";

/**
 * What the expiry makes of the names and dates on a page of blobs, and of the few documents that it then reads. The
 * names only point at what to inspect; whatever is deleted was judged by its documents, or belongs to nobody.
 */

/** What a container holds under one uid, as far as its pages were read. */
const folderSchema = z.object({
  id: idSchema,
  uid: idSchema,
  /** When anything under it was last written. */
  newestMs: z.number(),
  /** When the leader last wrote the run's state. */
  stateMs: z.number().optional(),
  /** Partials or nodes are there, which a complete run has no use for. */
  hasParts: z.boolean(),
});
export type UidFolder = z.infer<typeof folderSchema>;

/** A page that a sweep reads; in `_sweep` it is kept from term to term. */
export const pageSchema = z.object({
  v: z.literal(wireVersion).default(wireVersion),
  container: z.string(),
  cursor: z.string().optional(),
  /** A folder that may continue on this page. */
  open: folderSchema.optional(),
  /** What is before this name was inspected. */
  from: z.string().optional(),
  /** Tries of this page that storage refused or did not answer. */
  failed: z.int().nonnegative().optional(),
});
export type Page = z.infer<typeof pageSchema>;

/** In the order of lists. */
export const folderName = ({ id, uid }: Pick<UidFolder, "id" | "uid">): string => `${id}/${uid}/`;

type Dated = Pick<ListedBlob, "name" | "lastModifiedMs">;

/** `{id}/{uid}/…`; the spec lies directly under the id. */
const inFolder = /^([^/]+)\/([^/]+)\/(.+)$/;

/**
 * Takes a page, in the order of its names, and gives the folders that ended on it; the last one may continue
 * on the next page and is kept as `open`.
 */
export function foldersOn(
  page: readonly Dated[],
  open: UidFolder | undefined,
): { readonly ended: readonly UidFolder[]; readonly open: UidFolder | undefined } {
  const ended: UidFolder[] = [];
  let current = open;
  for (const { name, lastModifiedMs } of page) {
    const [, id, uid, rest] = inFolder.exec(name) ?? [];
    if (id === undefined || uid === undefined || rest === undefined) continue;
    // What is not named so is none of ours.
    if (![id, uid].every((one) => idSchema.safeParse(one).success)) continue;
    if (current === undefined || current.id !== id || current.uid !== uid) {
      if (current !== undefined) ended.push(current);
      current = { id, uid, newestMs: 0, stateMs: undefined, hasParts: false };
    }
    current.newestMs = Math.max(current.newestMs, lastModifiedMs);
    if (rest === "state.json") current.stateMs = lastModifiedMs;
    if (/^(anew\/\d+\/)?(parts|nodes)\//.test(rest)) current.hasParts = true;
  }
  return { ended, open: current };
}

/**
 * What is old on a page and in no folder: ids of specs, because a submit that broke off leaves nothing else, records of
 * messages that nobody understood, and summaries of closed runs, which are kept as long as runs are.
 */
export function oldOn(page: readonly (Dated & Pick<ListedBlob, "etag">)[], { nowMs, keepMs }: SweepRules) {
  const old = page.filter(({ lastModifiedMs }) => nowMs - lastModifiedMs > keepMs);
  const names = old.map(({ name }) => name);
  return {
    specIds: names.flatMap((name) => /^([^/]+)\/spec\.json$/.exec(name)?.[1] ?? []),
    records: names.filter((name) => name.startsWith(droppedBlobs)),
    summaries: old.filter(({ name }) => name.startsWith(closedBlobs)),
  };
}

export interface SweepRules {
  /** Storage's time. */
  readonly nowMs: number;
  /** `Infinity`: for ever. */
  readonly keepMs: number;
  /** Later than this nobody writes under a uid any more that was given up. */
  readonly quietMs: number;
}

/**
 * Why a folder is inspected: its run may have expired, or nobody may own it any more, or a late worker left something in
 * a complete run. A run at work writes its state all the time and is none of these.
 */
interface Why {
  readonly expired: boolean;
  readonly quiet: boolean;
}

export function whyInspect(folder: UidFolder, { nowMs, keepMs, quietMs }: SweepRules): Why {
  return {
    expired: folder.stateMs !== undefined && nowMs - folder.stateMs > keepMs,
    quiet: nowMs - folder.newestMs > quietMs,
  };
}

export type Found = "kept" | "expired" | "orphan" | "more";

/** `untilMs`, on the monotonic clock: a slice ends then, and what is not finished is inspected again in the next. */
export type SweepTerm = DeletingTerm & Pick<Term, "clock" | "packLimitMs"> & { readonly untilMs: number };

export const isTime = ({ clock, untilMs }: SweepTerm): boolean => clock.monotonicMs() < untilMs;

/**
 * Reads what belongs to a folder and does what its age calls for. The list is minutes or terms old by now: the age
 * is judged again on the state as it is read here. Throws where a document does not decode.
 */
export async function inspectFolder(
  term: SweepTerm,
  folder: UidFolder,
  why: Why,
  { keepMs }: Pick<SweepRules, "keepMs">,
): Promise<Found> {
  const { runs, results } = term.names;
  const { blobs } = term.storage;
  const during = { signal: term.leader.lost };
  const { id, uid } = folder;
  const { root } = runBlobs(id, uid);
  const spec = await readDocument(blobs, [runs, specBlob(id)], specSchema, during);
  const owned = spec?.value.uid === uid;
  if (owned ? !why.expired && !folder.hasParts : !why.quiet) return "kept";
  const state = await readDocument(blobs, [runs, runBlobs(id, uid).state], stateSchema, during);
  // A deletion leaves no state, so a run that has one has lost its spec otherwise, and expires like any other. But a leader
  // that was held up may have begun one, which holds nothing yet.
  const { layout, origin, phase = "planning" } = state?.value ?? {};
  if (!owned && phase === "planning" && layout === undefined && origin === undefined) {
    const all =
      (await deleteAll(term, runs, root)) && (await deleteAll(term, results, resultBlobs(id, uid).root));
    return all ? "orphan" : "more";
  }
  if (state === undefined || (owned && !isFinal(state.value.phase))) return "kept";
  if (ageMs(state) > keepMs) return askToDelete(term, id, { ...state.value, judged: state.etag });
  if (!owned || state.value.phase !== "complete" || !folder.hasParts) return "kept";
  const name = resultBlobs(id, uid).manifest(state.value.generation);
  const manifest = await readDocument(blobs, [results, name], manifestSchema, during);
  if (manifest?.value.complete !== true) return "kept";
  const { parts, nodes, outputsBefore } = runBlobs(id, uid, state.value.origin);
  for (const prefix of [parts, nodes, ...outputsBefore])
    if (!(await deleteAll(term, runs, prefix))) return "more";
  return "orphan";
}

/** Inspects a spec without anything else, whose submit broke off long ago. */
export async function inspectSpec(
  term: DeletingTerm,
  id: string,
  { keepMs }: Pick<SweepRules, "keepMs">,
): Promise<Found> {
  const { blobs } = term.storage;
  const { runs } = term.names;
  const during = { signal: term.leader.lost };
  const spec = await readDocument(blobs, [runs, specBlob(id)], specSchema, during);
  if (spec === undefined || ageMs(spec) <= keepMs) return "kept";
  const { uid } = spec.value;
  const state = await blobs.head(runs, runBlobs(id, uid).state, during);
  if (state.kind === "found") return "kept";
  return askToDelete(term, id, { uid, generation: 1, cap: 1, turn: 0, command: 0 });
}

/** Create-only, so that it meets a retry or a submit of the same moment like any other command. */
async function askToDelete(
  { storage, names, leader }: DeletingTerm,
  id: string,
  { uid, generation, cap, turn, command, judged }: Omit<Marker, "want" | "by" | "keep" | "rests">,
): Promise<Found> {
  leader.assertLeading();
  const own = { uid, generation, cap, turn, command: command + 1, judged };
  const metadata = encodeMarker({ ...own, want: "delete", by: "expiry" });
  const created = await storage.blobs.create(names.active, id, "", { metadata, signal: leader.lost });
  return created.kind === "created" ? "expired" : "kept";
}

/** Since it was last written, by storage's clock. */
const ageMs = ({ dateMs, lastModifiedMs }: StoredDocument<unknown>): number => dateMs - lastModifiedMs;

/** True if nothing is left. At least one page is deleted, so that every slice gets on. */
async function deleteAll(term: SweepTerm, container: string, prefix: string): Promise<boolean> {
  const pages = { left: limits.pagesPerLoopMax };
  do {
    if (await deleteUnder(term, container, prefix, pages)) return true;
    term.leader.progress();
  } while (pages.left > 0 && isTime(term) && !term.leader.signal.aborted);
  return false;
}
