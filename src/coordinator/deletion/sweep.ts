import { droppedBlobs, runIdPattern } from "../../model/names.ts";
import type { ListedBlob } from "../../storage/ports.ts";

/**
 * What the expiry makes of the names and dates of blobs. Pure; it only points at what is worth a closer look.
 */

/** What a container holds under one uid, as far as its pages were read. */
export interface UidFolder {
  readonly id: string;
  readonly uid: string;
  /** When anything under it was last written. */
  newestMs: number;
  /** When the leader last wrote the run's state. */
  stateMs: number | undefined;
  /** Partials or nodes are there, which a complete run has no use for. */
  hasParts: boolean;
}

type Dated = Pick<ListedBlob, "name" | "lastModifiedMs">;

/** `{id}/{uid}/…`; the spec lies directly under the id. */
const inFolder = /^([^/]+)\/([^/]+)\/(.+)$/;

/**
 * Takes a page, in the order of its names, and gives the folders that ended on it; the last one may go on with the
 * next page and is kept as `open`.
 */
export function foldersOn(
  page: readonly Dated[],
  open: UidFolder | undefined,
): { readonly ended: readonly UidFolder[]; readonly open: UidFolder | undefined } {
  const ended: UidFolder[] = [];
  let current = open;
  for (const { name, lastModifiedMs } of page) {
    const match = inFolder.exec(name);
    const [, id, uid, rest] = match ?? [];
    if (id === undefined || uid === undefined || rest === undefined || !runIdPattern.test(id)) continue;
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

/** Ids whose spec is so old: a submit that broke off leaves nothing else, and no folder tells of it. */
export const oldSpecs = (page: readonly Dated[], rules: SweepRules): string[] =>
  page
    .filter(({ lastModifiedMs }) => rules.nowMs - lastModifiedMs > rules.keepMs)
    .flatMap(({ name }) => /^([^/]+)\/spec\.json$/.exec(name)?.[1] ?? []);

/** Records of messages that nobody understood are kept as long as runs are. */
export const oldRecords = (page: readonly Dated[], rules: SweepRules): string[] =>
  page
    .filter(
      ({ name, lastModifiedMs }) =>
        name.startsWith(droppedBlobs) && rules.nowMs - lastModifiedMs > rules.keepMs,
    )
    .map(({ name }) => name);

export interface SweepRules {
  /** Storage's time. */
  readonly nowMs: number;
  /** `Infinity`: for ever. */
  readonly keepMs: number;
  /** Later than this nobody writes under a uid any more that was given up. */
  readonly quietMs: number;
}

/**
 * Why a folder is worth a closer look: its run may have expired, or nobody may own it any more, or a late worker left
 * something in a complete run. A run at work writes its state all the time and is none of these.
 */
export interface Why {
  readonly expired: boolean;
  readonly quiet: boolean;
}

export function worthALook(folder: UidFolder, { nowMs, keepMs, quietMs }: SweepRules): Why {
  return {
    expired: folder.stateMs !== undefined && nowMs - folder.stateMs > keepMs,
    quiet: nowMs - folder.newestMs > quietMs,
  };
}
