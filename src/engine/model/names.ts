/**
 * Names of containers, queues and shared blobs, and the rules for names that users choose. The blobs of one run are named
 * in `runBlobs.ts`, summaries of ended runs in `closedRun.ts`; no other file makes a name. docs/ARCHITECTURE.md
 * draws the whole tree.
 */
import { InputError } from "./errors.ts";
import { firstUnseen, showUnseen } from "./unseen.ts";

/** The namespace must leave room for the longest suffix in a container's 63 characters. */
export const namespacePattern = /^[a-z][a-z0-9]*(-[a-z0-9]+)*$/;
export const namespaceCharactersMax = 40;

const containerNames = ["coordination", "active", "runs", "results", "inputs"] as const;
const queueNames = ["packs", "urgent", "wake"] as const;
export type Names = Readonly<Record<(typeof containerNames | typeof queueNames)[number], string>>;

export const namesOf = (namespace: string): Names =>
  Object.fromEntries(
    [...containerNames, ...queueNames].map((name) => [name, `${namespace}-${name}`]),
  ) as Names;

export const containersOf = (names: Names): readonly string[] => containerNames.map((name) => names[name]);

/** Each queue and its poison queue. */
export const queuesOf = (names: Names): readonly string[] =>
  queueNames.flatMap((name) => [names[name], poisonOf(names[name])]);

export const poisonOf = (queue: string): string => `${queue}-poison`;

export const leaderBlob = "leader";
export const expiryBlob = "_expiry";
export const droppedBlob = (sha256: string): string => `_dropped/${sha256}`;

/** The blob of a named election; `leader` is the app's own. Throws `InputError` naming the rule. */
export function electionBlob(name: string): string {
  checkBlobName("an election", name);
  if (!/^(leases|state|workers)\//.test(name)) return name;
  throw new InputError(
    "invalid",
    "bad-name",
    `${quoted(name)}: an election's name cannot begin with "leases/", "state/" or "workers/"`,
  );
}

export const termStateBlob = (election: string): string => `state/${electionBlob(election)}`;

/** Heartbeats, one for each process that has work which lasts. */
export const heartbeatBlobs = "workers/";
/** A process that starts anew under the name of a dead one leaves the heartbeat of that one as it is. */
export const heartbeatBlob = (instance: string, boot: string): string =>
  `${heartbeatBlobs}${plainName(instance)}.${boot}`;

/** The instance and the process of a heartbeat's name; a name that `heartbeatBlob` does not make is an instance's as it is. */
export function parseHeartbeatBlob(blob: string): { readonly instance: string; readonly boot: string } {
  const [, name = "", boot = ""] = /^workers\/(.*?)(?:\.([^.]*))?$/s.exec(blob) ?? [];
  try {
    return { instance: decodeURIComponent(name.replaceAll("=", "%")), boot };
  } catch {
    return { instance: name, boot };
  }
}

const plainCharactersMax = 100;

/** Any text as part of a blob name: hosts and settings name instances as they like. What is too long is cut. */
const plainName = (text: string): string =>
  encodeURIComponent(text.slice(0, plainCharactersMax).toWellFormed()).replaceAll("%", "=");

export function namedLeaseBlob(name: string): string {
  checkBlobName("a lease", name);
  return `leases/${name}`;
}

/** Checks the name of an uploaded file; throws `InputError` naming the broken rule. */
export const checkInputName = (name: string): void => checkBlobName("a blob", name);

function checkBlobName(kind: string, name: unknown): void {
  const rule = brokenRule(name);
  if (rule === undefined) return;
  const message = `${quoted(name)} is no name for ${kind}: ${rule}`;
  throw new InputError("invalid", "bad-name", message, { field: "name" });
}

/** Blob names have at most 1,024 characters (Naming and Referencing Containers, Blobs, and Metadata), prefix included. */
const nameCharactersMax = 1_000;

/** The rule that this blob name breaks, or undefined. */
function brokenRule(name: unknown): string | undefined {
  if (typeof name !== "string" || name.length < 1 || name.length > nameCharactersMax) {
    return `use 1 to ${nameCharactersMax} characters`;
  }
  const unseen = firstUnseen(name);
  if (unseen !== undefined) return `control and invisible characters are not allowed, and it has ${unseen}`;
  // Not every client preserves these in a URL.
  if (name.includes("\\") || !name.isWellFormed()) return "backslashes and half characters are not allowed";
  const parts = name.split("/");
  if (parts.length > 200 || parts.some((part) => part === "" || part.endsWith("."))) {
    return "no part between slashes may be empty or end with a dot";
  }
  return name.trim() === name ? undefined : "it cannot begin or end with a space";
}

const quoted = (text: unknown): string => {
  const shown = String(text);
  return showUnseen(JSON.stringify(shown.length > 80 ? `${shown.slice(0, 80)}…` : shown));
};

/** Schedules are among the markers, under names that no run can have. */
export const scheduleBlobs = "_schedules/";
export const scheduleBlob = (name: string): string => `${scheduleBlobs}${name}`;

/** The id of a run has room for the time. */
export const scheduleNamePattern = /^[A-Za-z0-9][A-Za-z0-9_-]{0,39}$/;

/** The run of a due time, in ms. */
export const scheduledRunId = (schedule: string, ms: number): string =>
  `${schedule}-${new Date(ms).toISOString().replace(/[-:]|\.\d+/g, "")}`;

/** The schedule and the time of such an id; undefined for any other. */
export function parseScheduledRun(
  id: string,
): { readonly schedule: string; readonly ms: number } | undefined {
  const match = /^(.+)-(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/.exec(id);
  const [, schedule = "", year, month, day, hour, minute, second] = match ?? [];
  const ms = Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`);
  return scheduleNamePattern.test(schedule) && !Number.isNaN(ms) ? { schedule, ms } : undefined;
}

/**
 * A name in storage for lists, which scripts read and shells are given: every character that no id has, and no path of ids, is
 * escaped as in a URL. Whoever may write blobs chooses their names, and one may be shell text.
 */
export const plainId = (name: string): string =>
  name
    .toWellFormed()
    .replace(/[^A-Za-z0-9_/-]/gu, (one) =>
      Buffer.from(one).reduce(
        (all, byte) => `${all}%${byte.toString(16).toUpperCase().padStart(2, "0")}`,
        "",
      ),
    );

/** A valid run id: it becomes part of blob names and URLs. */
export const runIdPattern = /^[A-Za-z0-9][A-Za-z0-9_-]{0,62}$/;

/** Returns the id, or throws `InputError` naming the rule. */
export function parseRunId(id: string): string {
  if (runIdPattern.test(id)) return id;
  const shown = id.length > 80 ? `${id.slice(0, 80)}… (${id.length} characters)` : id;
  throw new InputError(
    "invalid",
    "bad-run-id",
    `id: ${JSON.stringify(shown)} is not a valid run id; use 1 to 63 letters, digits, "-" or "_", beginning with a letter or digit`,
  );
}
