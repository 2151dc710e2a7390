import * as z from "zod";
import { decodeValue, numberText } from "./decode.ts";
import { type AcceptedCode, accepts } from "./identity.ts";

/**
 * Facts about a partial or node in its content type, which a list returns without a read:
 * `application/json; ms=812; attempt=1; plan=3f2a8b1c9d0e4a5b; code=primes%401`.
 */
export interface OutputFacts {
  /** Time that a thread took. */
  readonly ms: number;
  /** The delivery of its message that wrote it, from 1; 0 if it was copied from another run. */
  readonly attempt: number;
  /** The first digits of the SHA-256 of its plan; another plan has other packs under the same names. */
  readonly plan?: string | undefined;
  /** Identity of the code that made it; a node's metadata has those of all its partials. */
  readonly code?: string | undefined;
  /** Of a partial: what its bytes depend on beside the code, see `keyOf`. */
  readonly key?: string | undefined;
  /** How many chunks of its pack a partial lacks, and the generation that made it: a later one computes the pack whole. */
  readonly gaps?: { readonly chunks: number; readonly gen: number } | undefined;
  /** It names files that were saved, which no other run has. */
  readonly saves?: boolean | undefined;
  /** Of the fold of a prefix: whether the calculation stops there. */
  readonly stops?: boolean | undefined;
}

export function outputContentType(
  base: string,
  { ms, attempt, plan, code, key, gaps, saves, stops }: OutputFacts,
): string {
  const facts = [base, `ms=${Math.round(ms)}`, `attempt=${attempt}`];
  if (plan !== undefined) facts.push(`plan=${plan}`);
  if (code !== undefined) facts.push(`code=${encodeURIComponent(code)}`);
  if (key !== undefined) facts.push(`key=${key}`);
  if (gaps !== undefined) facts.push(`gaps=${gaps.chunks}.${gaps.gen}`);
  if (saves === true) facts.push("saves=1");
  if (stops !== undefined) facts.push(`stops=${stops ? 1 : 0}`);
  return facts.join("; ");
}

/** What a fold may hold: outputs of one plan, and of its code. */
export interface AcceptedOutput extends AcceptedCode {
  /** SHA-256 of the plan. */
  readonly plan?: string | undefined;
}

/** A plan's hash as its outputs carry it: names of a million partials are listed again and again. */
export const planTag = (sha256: string): string => sha256.slice(0, 16);

/** Whether `tag` is that of the plan. */
const isOfPlan = ({ plan }: AcceptedOutput, tag: string | undefined): boolean =>
  plan !== undefined && tag === planTag(plan);

/** Whether an output may be folded. One that names no plan or no code never is. */
export const belongsTo = (
  accepted: AcceptedOutput,
  { plan, code }: Pick<OutputFacts, "plan" | "code">,
): boolean => accepts(accepted, code) && isOfPlan(accepted, plan);

/** Whether a partial is one with gaps of an earlier generation: it counts as missing, and gives way to one of this. */
export const isOutdated = ({ gaps }: Pick<OutputFacts, "gaps">, gen: number): boolean =>
  gaps !== undefined && gaps.gen < gen;

/** Parses the facts; absent or malformed ones count as nothing, since they are only statistics. */
export function parseOutputFacts(contentType: string): OutputFacts {
  const parameters = new Map<string, string>();
  for (const [, name = "", value = ""] of contentType.matchAll(/;\s*(\w+)=([^;\s]+)/g))
    if (!parameters.has(name)) parameters.set(name, value);
  const number = (text: string | undefined): number => {
    const value = Number(text ?? "0");
    return Number.isFinite(value) && value >= 0 ? value : 0;
  };
  const code = parameters.get("code");
  const plan = parameters.get("plan");
  const key = parameters.get("key");
  const stops = parameters.get("stops");
  const [, gaps, gen] = /^(\d{1,8})\.(\d{1,8})$/.exec(parameters.get("gaps") ?? "") ?? [];
  return {
    ms: number(parameters.get("ms")),
    attempt: number(parameters.get("attempt")),
    ...(plan === undefined ? {} : { plan }),
    ...(code === undefined ? {} : { code: plain(code) }),
    ...(key === undefined ? {} : { key }),
    ...(gaps === undefined ? {} : { gaps: { chunks: Number(gaps), gen: Number(gen) } }),
    ...(parameters.get("saves") === "1" ? { saves: true } : {}),
    ...(stops === undefined ? {} : { stops: stops === "1" }),
  };
}

function plain(code: string): string {
  try {
    return decodeURIComponent(code);
  } catch {
    return code;
  }
}

/** What a fold needs in addition to the bytes of a partial or node. A node carries it in its metadata. */
export interface FoldFacts {
  /**
   * For a shard's node: the bitmap of the packs that are folded into it. For a partial: that of the chunks folded into it, by
   * their index in the pack. Absent: all.
   */
  readonly members?: string | undefined;
  /** Folded chunks. */
  readonly folded: number;
  /** Attempts of the folded packs together. */
  readonly attempts: number;
  /** Identities of the code that computed and folded them. */
  readonly code: readonly string[];
}

/** Identities listed at most: metadata has 8 KB, which a node's inline bytes share. */
const versionsMax = 16;

export const encodeFoldFacts = ({ members, folded, attempts, code }: FoldFacts): Record<string, string> => ({
  ...(members === undefined ? {} : { members }),
  folded: String(folded),
  attempts: String(attempts),
  // Not every client accepts metadata with an empty value.
  ...(code.length === 0 ? {} : { code: code.slice(0, versionsMax).join(",") }),
});

const count = z
  .string()
  .regex(/^\d{1,15}$/)
  .transform(Number);
const foldFactsSchema = z.object({
  members: z.string().optional(),
  folded: count,
  attempts: count,
  code: z
    .string()
    .transform((text) => text.split(","))
    .default([]),
});

/** Throws `CorruptDataError` for other metadata: these counts decide whether a result is complete. */
export const decodeFoldFacts = (metadata: Readonly<Record<string, string>>, what: string): FoldFacts =>
  decodeValue(foldFactsSchema, metadata, `the metadata of ${what}`);

/**
 * The outcome of recomputing a pack: the SHA-256 of its partial and the time, or the error. It is in the metadata of
 * `answers/{tag}/{pack}`, so that one list returns the outcomes of many packs.
 */
export type Verified =
  | { readonly sha256: string; readonly ms: number }
  | { readonly error: { readonly code: string; readonly message: string } };

/** Characters of an error message: metadata holds 8 KB, and messages of user code may be long. */
const messageCharactersMax = 500;

export function encodeVerified(verified: Verified): Record<string, string> {
  if ("sha256" in verified) return { sha256: verified.sha256, ms: String(Math.round(verified.ms)) };
  const { code, message } = verified.error;
  if (message === "") return { error: code };
  // Metadata are headers: ASCII without line breaks.
  return { error: code, message: Buffer.from(message.slice(0, messageCharactersMax)).toString("base64url") };
}

const schema = z.union([
  z.object({ sha256: z.string().regex(/^[0-9a-f]{64}$/), ms: numberText }),
  z.object({ error: z.string(), message: z.string().default("") }).transform(({ error, message }) => ({
    error: { code: error, message: Buffer.from(message, "base64url").toString("utf8") },
  })),
]);

/** Throws `CorruptDataError` for other metadata. */
export const decodeVerified = (metadata: Readonly<Record<string, string>>, what: string): Verified =>
  decodeValue(schema, metadata, `the metadata of ${what}`);
