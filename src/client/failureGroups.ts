import type { Failure } from "../model/run.ts";

/** A failure record and the work that it is of; `pack` if that is a pack. */
interface Failed extends Pick<Failure, "code" | "message" | "chunks" | "attempts"> {
  readonly work: string;
  readonly pack?: number;
}

/** Failures with the same error but for the numbers in it. */
export interface FailureGroup {
  readonly code: string;
  /** The error with `N` for each number and `ID` for each random id; a long one is cut. */
  readonly message: string;
  /** The first of these errors as it was. */
  readonly sample: string;
  /** The work that it came from, such as `00003/00000042`. */
  readonly work: string;
  readonly packs: number;
  readonly chunks: number;
  /** Failed plans, combines and finishes. */
  readonly tasks: number;
  readonly attempts: number;
}

const messageCharactersMax = 300;

/**
 * Pure: groups failures by code and normalized error, the largest group first. Work that failed in several sends or
 * generations counts once in a group, its attempts each time.
 */
export function groupFailures(failures: readonly Failed[]): readonly FailureGroup[] {
  const groups = new Map<string, FailureGroup & { readonly seen: Set<string> }>();
  for (const { code, message: sample, work, pack, chunks, attempts } of failures) {
    const message = normalized(sample);
    const key = JSON.stringify([code, message]);
    const before = groups.get(key) ?? { ...{ code, message, sample, work }, ...none, seen: new Set() };
    const isNew = !before.seen.has(work);
    before.seen.add(work);
    groups.set(key, {
      ...before,
      packs: before.packs + (isNew && pack !== undefined ? 1 : 0),
      chunks: before.chunks + (isNew && chunks !== undefined ? chunks.to - chunks.from : 0),
      tasks: before.tasks + (isNew && pack === undefined ? 1 : 0),
      attempts: before.attempts + attempts,
    });
  }
  return [...groups.values()]
    .map(({ seen: _seen, ...group }) => group)
    .sort((a, b) => b.packs + b.tasks - (a.packs + a.tasks) || (a.message < b.message ? -1 : 1));
}

const none = { packs: 0, chunks: 0, tasks: 0, attempts: 0 };

const uuid = /\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/gi;
/** Hexadecimal of a length that only ids and hashes have, with a digit in it. */
const longHex = /\b(?:0x)?(?=[a-f]*\d)[0-9a-f]{12,}\b/gi;
const number = /[-+]?(?:\d[\d_,]*(?:\.\d+)?|\.\d+)(?:e[-+]?\d+)?/gi;

/** An error without what differs from pack to pack. */
export function normalized(message: string): string {
  const text = message
    .slice(0, 10 * messageCharactersMax)
    .replace(uuid, "ID")
    .replace(longHex, "ID")
    .replace(number, "N")
    .replace(/\s+/g, " ")
    .trim();
  return text.length <= messageCharactersMax
    ? text
    : `${text.slice(0, messageCharactersMax - 1).toWellFormed()}…`;
}
