import { CorruptDataError, OtherVersionError } from "./errors.ts";

/**
 * The version that this release writes of each stored document and of messages, as `v` in their bytes or metadata. It reads
 * that one, and those that `readers` know. docs/UPGRADE.md has the policy.
 *
 * A change that an older release must not overlook raises the version of that one document: first a release gets a reader of
 * the next version, a later one writes it and keeps a reader of the version before. A new optional field needs no version.
 */
export const versions = {
  ...{ marker: 1, schedule: 1, spec: 1, plan: 1, segment: 1, state: 1, message: 1, failure: 1, printed: 1 },
  ...{ manifest: 1, answer: 1, summary: 1, sign: 1, leader: 2 },
} as const;
export type Versioned = keyof typeof versions;

/** Gives the form of the version that is written. */
type Reader = (document: Readonly<Record<string, unknown>>) => Readonly<Record<string, unknown>>;

/** By document and version: the version before, and the next one before any release writes it. */
const readers: Partial<Record<Versioned, Readonly<Record<number, Reader>>>> = {};

/**
 * A parsed document in the form of the version that is written. One that tells no version is left as it is. Throws
 * `OtherVersionError` for a version without a reader, and `CorruptDataError` where a reader fails.
 */
export function inWrittenForm<T>(
  kind: Versioned,
  value: T,
  what: string,
  reads: Readonly<Record<number, Reader>> = readers[kind] ?? {},
): T | Readonly<Record<string, unknown>> {
  const { v: version } = (value ?? {}) as { readonly v?: unknown };
  const writes = versions[kind];
  if (version === writes || !isVersion(version)) return value;
  const reader = reads[version];
  if (reader === undefined) {
    const age = version > writes ? "newer" : "older";
    const read = [...Object.keys(reads), writes].sort().join(" and ");
    const message = `${what} is of version ${version}, which ${age === "newer" ? "a newer" : "an older"} release wrote; this one reads ${read}`;
    throw new OtherVersionError(`${age}-version`, message);
  }
  try {
    return { ...reader(value as Readonly<Record<string, unknown>>), v: writes };
  } catch (cause) {
    throw new CorruptDataError("bad-shape", `${what} of version ${version} does not decode`, { cause });
  }
}

const isVersion = (version: unknown): version is number =>
  Number.isSafeInteger(version) && Number(version) >= 0;

/** Metadata with `v` as the number that `inWrittenForm` knows. */
export const withVersion = ({ v = "", ...metadata }: Readonly<Record<string, string>>) => ({
  ...metadata,
  v: /^\d+$/.test(v) ? Number(v) : undefined,
});
