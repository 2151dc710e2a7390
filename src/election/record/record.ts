import * as z from "zod";
import { count, parseJson, positive } from "../../engine/model/decode.ts";
import { OtherVersionError } from "../../engine/model/errors.ts";
import { checkVersion, versions, withVersion } from "../../engine/model/versions.ts";

/**
 * The public record of an election, for anyone with read rights: JSON in the metadata of the leader blob, whose keys are `v`
 * and `record`. Metadata is ASCII, so any other character is escaped. The service takes 8 KB, names included.
 */
export interface LeaderRecord {
  /** From 1 on. */
  readonly term: number;
  /** Random and new with each claim: ownership is equality of this, never of `term` alone. */
  readonly termid: string;
  readonly state: "leading" | "ended";
  readonly holder: string;
  readonly region?: string | undefined;
  /** When the term began, by the storage service's clock. */
  readonly sinceMs: number;
  /** Different with every write; it only shows that the record changed. */
  readonly heartbeat: string;
  /** 0: never break this lease early. */
  readonly breakAfterMs: number;
  /** Confirmed remaining time of the lease when this was written. Absent before the first heartbeat and after the last. */
  readonly leaseLeftMs?: number | undefined;
  readonly cameBy: CameBy;
  /** Why the term ended. Absent before its end. */
  readonly ending?: EndCause | undefined;
  readonly notes: Readonly<Record<string, string>>;
  /** What the holder says about itself. Shown and compared, never used to decide anything. */
  readonly about?: Readonly<Record<string, string>> | undefined;
  /** Oldest first, this term included. */
  readonly lastTerms: readonly PastTerm[];
}

/**
 * How the holder acquired the lease: nobody held it, or after an expiry or a break, or `handed-over`: released just now
 * by a leader that had led to the planned end of its term.
 */
export const cameBySchema = z.enum(["free", "handed-over", "expired", "broken"]);
export type CameBy = z.infer<typeof cameBySchema>;

/** Why a term, or a lease held without a term, came to its end. */
export type EndCause =
  /** The task ended by itself. */
  | "done"
  /** The task threw. */
  | "failed"
  /** The invocation's time is nearly spent. */
  | "budget"
  /** The process was asked to stop. */
  | "stopping"
  /** No progress was reported for too long. */
  | "stalled"
  /** No renewal or heartbeat was confirmed in time. */
  | "stop-work"
  /** Storage answered definitely that the lease is not ours any more. */
  | "lost";

export interface PastTerm {
  readonly term: number;
  readonly termid: string;
  readonly holder: string;
  readonly sinceMs: number;
  readonly cameBy: CameBy;
  /** When its leader last wrote the record, by the storage service's clock. Absent until the next claim. */
  readonly untilMs?: number | undefined;
}

export type Decoded =
  | { readonly kind: "record"; readonly record: LeaderRecord }
  | { readonly kind: "none" }
  | { readonly kind: "newer"; readonly reason: string }
  | { readonly kind: "unreadable"; readonly reason: string };

export const lastTermsMax = 16;
const metadataBytesMax = 8 * 1024 - 512; // The rest is left for the service's own counting.

const texts = z.record(z.string(), z.string());
const ending = z.enum(["done", "failed", "budget", "stopping", "stalled", "stop-work", "lost"]);
const term = { term: positive, termid: z.string().min(1).max(64), holder: z.string() };

const recordSchema = z.object({
  ...term,
  state: z.enum(["leading", "ended"]),
  region: z.string().optional(),
  sinceMs: count,
  heartbeat: z.string().min(1).max(64),
  breakAfterMs: count,
  leaseLeftMs: count.optional(),
  cameBy: cameBySchema,
  // A cause that this version does not know is none to rely on.
  ending: ending.optional().catch("failed"),
  notes: texts,
  // Only shown, so an election must not fail because of it.
  about: texts.optional().catch(undefined),
  lastTerms: z
    .array(z.object({ ...term, sinceMs: count, cameBy: cameBySchema, untilMs: count.optional() }))
    .max(lastTermsMax),
});

/**
 * A blob without metadata: nobody has led yet. The record of an older version is none either; whoever wrote it is left to
 * its lease, and a state that has seen its terms has the next claim made above them. Anything else that does not decode is
 * not ours to replace.
 */
export function decodeRecord(metadata: Readonly<Record<string, string>>): Decoded {
  if (Object.keys(metadata).length === 0) return { kind: "none" };
  const { v, record = "" } = withVersion(metadata) as { v?: number; record?: string };
  const known = { ...jsonOf(record), v };
  try {
    checkVersion("leader", known, "the leader record");
  } catch (error) {
    if (!(error instanceof OtherVersionError)) throw error;
    return error.code === "newer-version" ? { kind: "newer", reason: error.message } : { kind: "none" };
  }
  const parsed = recordSchema.safeParse(known);
  if (v === versions.leader && parsed.success) return { kind: "record", record: parsed.data };
  const where = parsed.success ? "v" : ["record", ...(parsed.error.issues[0]?.path ?? [])].join(".");
  return { kind: "unreadable", reason: `The leader record was not written by Leasefold (at "${where}").` };
}

function jsonOf(text: string): object | undefined {
  try {
    return parseJson(text, "the leader record") as object;
  } catch {
    return undefined;
  }
}

/** Always fits: drops what is only shown, then the oldest terms, so that a term does not end because of its notes. */
export function encodeRecord(record: LeaderRecord): { readonly v: string; readonly record: string } {
  const encoded = { v: String(versions.leader), record: asciiOf(JSON.stringify(record)) };
  const smaller = encoded.record.length <= metadataBytesMax ? undefined : shrink(record);
  return smaller === undefined ? encoded : encodeRecord(smaller);
}

function shrink(record: LeaderRecord): LeaderRecord | undefined {
  const { notes, about, lastTerms } = record;
  if (Object.keys(notes).length > 0) return { ...record, notes: {} };
  if (about !== undefined) return { ...record, about: undefined };
  return lastTerms.length > 0 ? { ...record, lastTerms: lastTerms.slice(1) } : undefined;
}

/** Spaces too: what signs or carries a header may join several of them. */
const asciiOf = (json: string): string =>
  json.replace(/[^!-~]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
