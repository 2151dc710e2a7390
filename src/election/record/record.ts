import * as z from "zod";

/**
 * The public record of an election: the metadata of the leader blob, for anyone with read rights. Names are lower
 * case and values are ASCII; text that people choose is base64url. The service takes 8 KB, names included.
 */
export interface LeaderRecord {
  /** 0 before the first leader. */
  readonly term: number;
  /** Random and new with each claim: ownership is equality of this, never of `term` alone. Empty at term 0. */
  readonly termid: string;
  readonly state: "looking" | "leading" | "ended";
  readonly holder: string;
  readonly region?: string | undefined;
  /** When the term began, by the storage service's clock. */
  readonly sinceMs: number;
  /** Different with every write; it only shows that the record changed. */
  readonly beat: string;
  /** 0: never break this lease early. */
  readonly breakAfterMs: number;
  /** Confirmed remaining time of the lease when this was written. Absent in records of older versions and of no leader. */
  readonly leaseLeftMs?: number | undefined;
  readonly cameBy: CameBy;
  /** Why the term ended. Absent before its end and in records of older versions. */
  readonly ending?: EndCause | undefined;
  readonly notes: Readonly<Record<string, string>>;
  /** What the holder says about itself. Shown and compared, never used to decide anything. */
  readonly about?: Readonly<Record<string, string>> | undefined;
  /** Oldest first, this term included. */
  readonly lastTerms: readonly PastTerm[];
  /** Who led the term, where the holder of this record only polled. Absent in records of leaders and older versions. */
  readonly led?: Led | undefined;
}

/** The leader of a term as its own record showed it. */
export interface Led {
  readonly holder: string;
  readonly region?: string | undefined;
  readonly sinceMs: number;
  /** Absent where only the list of terms remembers the leader. */
  readonly cameBy?: CameBy | undefined;
  /** When the leader last wrote its record, by the storage service's clock. Absent as above. */
  readonly untilMs?: number | undefined;
}

/**
 * How the holder acquired the lease: nobody held it, or after an expiry or a break, or `handed-over`: released just now
 * by a leader that had led to the planned end of its term.
 */
export type CameBy = "free" | "handed-over" | "expired" | "broken";

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
  /** No renewal or beat was confirmed in time. */
  | "stop-work"
  /** Storage answered definitely that the lease is not ours any more. */
  | "lost";

export interface PastTerm {
  readonly term: number;
  readonly termid: string;
  readonly holder: string;
  readonly sinceMs: number;
  /** Absent where an older version wrote the term. */
  readonly cameBy?: CameBy | undefined;
  /** When its leader last wrote the record, by the storage service's clock. Absent as above, and while it leads. */
  readonly untilMs?: number | undefined;
}

export type Decoded =
  | { readonly kind: "record"; readonly record: LeaderRecord }
  | { readonly kind: "none" }
  | { readonly kind: "newer"; readonly reason: string }
  | { readonly kind: "unreadable"; readonly reason: string };

const version = 1;
export const lastTermsMax = 16;
const metadataBytesMax = 8 * 1024 - 512; // The rest is left for the service's own counting.

const pack = (text: string): string => Buffer.from(text, "utf8").toString("base64url");
const unpack = z
  .string()
  .regex(/^[\w-]*$/)
  .transform((text) => Buffer.from(text, "base64url").toString("utf8"));
const unpackJson = unpack.transform((text, context): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    context.addIssue("no JSON");
    return z.NEVER;
  }
});
const count = z
  .string()
  .regex(/^\d{1,15}$/)
  .transform(Number);
const instant = z.iso.datetime().transform(Date.parse);

const cameBy = z.enum(["free", "handed-over", "expired", "broken"]);
const ending = z.enum(["done", "failed", "budget", "stopping", "stalled", "stop-work", "lost"]);

const wire = z.object({
  term: count,
  termid: z.string().max(64).default(""),
  state: z.enum(["looking", "leading", "ended"]),
  holder: unpack,
  region: unpack.optional(),
  since: instant,
  beat: z.string().min(1).max(64),
  breakafterms: count,
  leaseleftms: count.optional(),
  cameby: cameBy,
  // A cause that this version does not know is none to rely on.
  ending: ending.optional().catch("failed"),
  notes: unpackJson.pipe(z.record(z.string(), z.string())).optional(),
  // Only shown, so an election must not fail because of it.
  about: unpackJson.pipe(z.record(z.string(), z.string())).optional().catch(undefined),
  lastterms: unpackJson
    .pipe(z.array(z.tuple([z.int().nonnegative(), z.string(), z.string(), z.number()])).max(lastTermsMax))
    .optional(),
  // Only shown, like `about`. Beside `lastterms`, which older versions read as tuples of four.
  ends: unpackJson
    .pipe(z.array(z.tuple([cameBy.nullable(), z.number().nullable()])).max(lastTermsMax))
    .optional()
    .catch(undefined),
  led: unpackJson
    .pipe(
      z.object({
        holder: z.string(),
        region: z.string().optional(),
        sinceMs: z.number(),
        cameBy: cameBy.optional(),
        untilMs: z.number().optional(),
      }),
    )
    .optional()
    .catch(undefined),
});

/** A blob without metadata: nobody has led yet. Anything else that does not decode is not ours to replace. */
export function decodeRecord(metadata: Readonly<Record<string, string>>): Decoded {
  if (Object.keys(metadata).length === 0) return { kind: "none" };
  const written = Number(metadata["v"]);
  if (Number.isInteger(written) && written > version) {
    return { kind: "newer", reason: `The leader record has version ${written}, this is version ${version}.` };
  }
  const parsed = wire.safeParse(metadata);
  if (written !== version || !parsed.success) {
    const where = parsed.success ? "v" : (parsed.error.issues[0]?.path.join(".") ?? "");
    return { kind: "unreadable", reason: `The leader record was not written by Leasefold (at "${where}").` };
  }
  const { since, breakafterms, leaseleftms, cameby, notes = {}, lastterms = [], ends, ...same } = parsed.data;
  const lastTerms = lastterms.map(([term, termid, holder, sinceMs], index): PastTerm => {
    const [by, untilMs] = (ends?.length === lastterms.length ? ends[index] : undefined) ?? [];
    return { term, termid, holder, sinceMs, ...(by && { cameBy: by }), ...(untilMs && { untilMs }) };
  });
  const record = {
    ...{ ...same, sinceMs: since, breakAfterMs: breakafterms, cameBy: cameby, notes, lastTerms },
    ...(leaseleftms === undefined ? {} : { leaseLeftMs: leaseleftms }),
  };
  return { kind: "record", record };
}

/** Always fits: drops what is only shown, then the oldest terms, so that a term does not end because of its notes. */
export function encodeRecord(record: LeaderRecord): Record<string, string> {
  const encoded = encodeAll(record);
  const smaller = bytesOf(encoded) <= metadataBytesMax ? undefined : shrink(record);
  return smaller === undefined ? encoded : encodeRecord(smaller);
}

function shrink(record: LeaderRecord): LeaderRecord | undefined {
  const { notes, about, lastTerms } = record;
  if (Object.keys(notes).length > 0) return { ...record, notes: {} };
  if (about !== undefined) return { ...record, about: undefined };
  return lastTerms.length > 0 ? { ...record, lastTerms: lastTerms.slice(1) } : undefined;
}

function encodeAll(record: LeaderRecord): Record<string, string> {
  const terms = record.lastTerms.map((one) => [one.term, one.termid, one.holder, one.sinceMs]);
  const ends = record.lastTerms.map(({ cameBy, untilMs }) => [cameBy ?? null, untilMs ?? null]);
  return {
    v: String(version),
    term: String(record.term),
    ...(record.termid === "" ? {} : { termid: record.termid }),
    state: record.state,
    holder: pack(record.holder),
    ...(record.region ? { region: pack(record.region) } : {}),
    since: new Date(record.sinceMs).toISOString(),
    beat: record.beat,
    breakafterms: String(record.breakAfterMs),
    ...(record.leaseLeftMs === undefined ? {} : { leaseleftms: String(record.leaseLeftMs) }),
    cameby: record.cameBy,
    ...(record.ending === undefined ? {} : { ending: record.ending }),
    ...(Object.keys(record.notes).length === 0 ? {} : { notes: pack(JSON.stringify(record.notes)) }),
    ...(record.about === undefined ? {} : { about: pack(JSON.stringify(record.about)) }),
    ...(terms.length === 0
      ? {}
      : { lastterms: pack(JSON.stringify(terms)), ends: pack(JSON.stringify(ends)) }),
    ...(record.led === undefined ? {} : { led: pack(JSON.stringify(record.led)) }),
  };
}

const bytesOf = (metadata: Record<string, string>): number =>
  Object.entries(metadata).reduce((sum, [name, value]) => sum + name.length + value.length, 0);
