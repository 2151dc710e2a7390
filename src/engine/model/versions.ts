import { OtherVersionError } from "./errors.ts";

/**
 * The version of each stored document and of messages, as `v` in their bytes or metadata, that this release writes and reads. A
 * change that another release must not overlook raises the version of that one document; a new optional field needs none. Of
 * documents that outlive an upgrade (schedules, manifests, summaries) the release that raises it also reads the version before.
 */
export const versions = {
  ...{ marker: 1, schedule: 1, spec: 1, plan: 1, segment: 1, state: 1, message: 1, failure: 1, printed: 1 },
  ...{ manifest: 1, answer: 1, summary: 1, heartbeat: 1, leader: 1 },
} as const;
export type Versioned = keyof typeof versions;

/** Throws `OtherVersionError` for a parsed document of another version; one that tells none is left to its schema. */
export function checkVersion(kind: Versioned, value: unknown, what: string): void {
  const { v: version } = (value ?? {}) as { readonly v?: unknown };
  const ours: number = versions[kind];
  if (version === ours || !isVersion(version)) return;
  const age = version > ours ? "newer" : "older";
  const message = `${what} is of version ${version}, which ${age === "newer" ? "a newer" : "an older"} release wrote; this one reads ${ours}`;
  throw new OtherVersionError(`${age}-version`, message);
}

const isVersion = (version: unknown): version is number =>
  Number.isSafeInteger(version) && Number(version) >= 0;

/** Metadata with `v` as the number that `checkVersion` knows. */
export const withVersion = ({ v = "", ...metadata }: Readonly<Record<string, string>>) => ({
  ...metadata,
  v: /^\d+$/.test(v) ? Number(v) : undefined,
});
