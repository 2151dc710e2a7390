import pMap from "p-map";
import * as z from "zod";
import { type ClosedRun, closedBlobs, decodeClosedRun, parseClosed } from "../model/closedRun.ts";
import { costSchema } from "../model/cost.ts";
import { parseJson } from "../model/decode.ts";
import { CorruptDataError, isUnreadable, LeasefoldError, unreadableWord } from "../model/errors.ts";
import { decodeMarker, type Marker } from "../model/marker.ts";
import { plainId, runIdPattern, scheduleBlobs } from "../model/names.ts";
import type { ListedBlob } from "../storage/ports.ts";
import { type Client, clientLimits, defined } from "./client.ts";
import { blobPage, blobPages } from "./containersAndQueues.ts";
import { countsSchema, splitLost } from "./counts.ts";
import { type Read, readSpec, readState } from "./runDocuments.ts";
import { filterOf, type RunsQuery } from "./runFilter.ts";
import { checkWhole, invalid } from "./runRequest.ts";
import { type RunView, runViewSchema, viewOf } from "./runView.ts";
import { errorSchema, list, text, time } from "./viewSchemas.ts";

const unreadableSchema = z
  .object({
    run: text,
    word: z.enum(["unreadable", "needs-newer-version", "needs-older-version"]),
    active: z.boolean(),
    error: errorSchema,
  })
  .describe("A run whose documents this version cannot read; the other runs are listed all the same.")
  .meta({ id: "UnreadableRun" });
type UnreadableRun = z.infer<typeof unreadableSchema>;

const endedSchema = z
  .object({
    ...runViewSchema.pick({ run: true, uid: true, generation: true, submittedAt: true, elapsedS: true })
      .shape,
    ...runViewSchema.pick({ submittedBy: true, tags: true }).shape,
    phase: z.enum(["complete", "failed", "cancelled"]),
    word: z.enum(["complete", "complete-with-gaps", "failed", "cancelled"]),
    active: z.literal(false),
    calculation: text.describe("Empty if its request does not decode."),
    params: z.unknown().describe("Absent if they are long.").optional(),
    code: text.exactOptional(),
    packs: countsSchema.describe("Absent if the run was never planned.").exactOptional(),
    chunks: countsSchema.exactOptional(),
    finishedAt: time,
    result: z.object({ sha256: text }).exactOptional(),
    ...costSchema.shape,
    error: errorSchema.exactOptional(),
  })
  .describe("What a list shows of an ended run.")
  .meta({ id: "EndedRun" });

const listedSchema = z.union([runViewSchema, endedSchema, unreadableSchema]);
export type ListedRun = z.infer<typeof listedSchema>;

/** `active`: every phase that is not final. */
export const listPhases = ["active", "complete", "failed", "cancelled"] as const;

export const runsPageSchema = z
  .object({
    runs: list(listedSchema),
    cursor: text
      .describe("Absent on the last page. A page that a filter left short may still have one.")
      .exactOptional(),
  })
  .meta({ id: "Runs" });
export type RunsPage = z.infer<typeof runsPageSchema>;

/**
 * The runs of the namespace: first the active ones, by id where they need several pages; with the last of them the first
 * ended ones. On a page the newest submit is first. Costs two reads for each active run that it shows, and one list call for
 * 1,000 ended ones. Throws `InputError` naming the field.
 *
 * Not promised: a run whose submit broke off, or that an instance older than these lists has ended; `status` finds both.
 */
export async function runs(client: Client, query: RunsQuery = {}): Promise<RunsPage> {
  const { phase, calculation } = query;
  const limit = checkWhole("limit", query.limit, clientLimits.runsListedMax) ?? clientLimits.runsListed;
  const cursor = query.cursor === undefined ? undefined : decodeCursor(query.cursor);
  if (phase !== undefined && !listPhases.some((one) => one === phase))
    throw invalid("phase", `give one of ${listPhases.join(", ")}`);
  const { wanted, sinceMs, prefix } = filterOf(client, query);
  const markers = await listMarkers(client);
  const read = ([id, marker]: [string, ListedMarker]) => readActive(client, id, marker);
  const after = cursor === undefined ? "" : cursor.active;
  const withActive = after !== undefined && (phase === undefined || phase === "active");
  const named = withActive ? [...markers].filter(([id]) => id.startsWith(prefix) && id > after) : [];
  const here = await pMap(named.slice(0, limit), read, { concurrency: clientLimits.readsAtOnce });
  const first = here
    .filter((one) => one !== undefined)
    .filter(wanted)
    .sort(newestFirst);
  const last = named.length > limit ? named[limit - 1]?.[0] : undefined;
  if (last !== undefined) return { runs: first, cursor: encodeCursor({ active: last }) };
  if (phase === "active") return { runs: first };
  // Runs that are active again, or are being deleted, are not listed as ended.
  const shown = (run: ListedRun) =>
    !markers.has(run.run) && wanted(run) && (phase === undefined || ("phase" in run && run.phase === phase));
  const filtered = [phase, calculation, query.tag, query.since, query.prefix].some(
    (one) => one !== undefined,
  );
  const pageSize = filtered ? clientLimits.runsListedMax : limit;
  const ended = await listClosed(client, { limit, pageSize, cursor, shown, sinceMs });
  return { ...ended, runs: [...first, ...ended.runs] };
}

/** The same, of all pages. */
export async function allRuns(client: Client, query: Omit<RunsQuery, "limit" | "cursor">) {
  const all: ListedRun[] = [];
  let cursor: string | undefined;
  do {
    const page = await runs(client, { ...query, cursor, limit: clientLimits.runsListedMax });
    all.push(...page.runs);
    cursor = page.cursor;
  } while (cursor !== undefined);
  return all;
}

const newestFirst = (a: ListedRun, b: ListedRun): number =>
  submittedAt(b).localeCompare(submittedAt(a)) || a.run.localeCompare(b.run);
const submittedAt = (one: ListedRun): string => ("submittedAt" in one ? one.submittedAt : "");

/** A marker, or the error of decoding it, which is shown with its run. */
type ListedMarker = Read<Marker> | LeasefoldError;

async function readActive(client: Client, id: string, marker: ListedMarker): Promise<ListedRun | undefined> {
  try {
    if (marker instanceof LeasefoldError) throw marker;
    const spec = await readSpec(client, id);
    // A marker without a spec is what a deletion leaves last.
    if (spec === undefined) return undefined;
    const state = await readState(client, id, spec.value.uid);
    return viewOf({ spec, state, marker, manifest: undefined });
  } catch (error) {
    return unreadable(id, true, error);
  }
}

/** Throws errors of another kind on. */
function unreadable(run: string, active: boolean, error: unknown): UnreadableRun {
  if (!isUnreadable(error)) throw error;
  const { code, message } = error;
  return { run: plainId(run), word: unreadableWord(error), active, error: { code, message } };
}

async function listMarkers(client: Client): Promise<ReadonlyMap<string, ListedMarker>> {
  const markers = new Map<string, ListedMarker>();
  for await (const { blobs, dateMs } of blobPages(client, client.names.active, "", { metadata: true }))
    for (const blob of blobs)
      if (!blob.name.startsWith(scheduleBlobs)) markers.set(blob.name, listedMarker(blob, dateMs));
  return markers;
}

function listedMarker({ name, metadata, etag, lastModifiedMs }: ListedBlob, dateMs: number): ListedMarker {
  // Whoever may write markers chooses the name, and storage refuses to read some names.
  if (!runIdPattern.test(name)) return new CorruptDataError("stray-marker", "its name is no run's id");
  try {
    return { value: decodeMarker(metadata, name), etag, lastModifiedMs, dateMs };
  } catch (error) {
    if (error instanceof LeasefoldError) return error;
    throw error;
  }
}

/** `page`: storage's cursor of the page to continue on; `after`: the last name of it that was taken. `active`: the last active id. */
const cursorSchema = z.strictObject({
  page: z.string().optional(),
  after: z.string().optional(),
  active: z.string().optional(),
});
type Cursor = z.infer<typeof cursorSchema>;

const encodeCursor = (cursor: Cursor): string => Buffer.from(JSON.stringify(cursor)).toString("base64url");

function decodeCursor(text: string): Cursor {
  try {
    return cursorSchema.parse(parseJson(Buffer.from(text, "base64url"), "the cursor"));
  } catch {
    throw invalid("cursor", "not one of an earlier page");
  }
}

interface Closed {
  readonly limit: number;
  readonly pageSize: number;
  readonly cursor: Cursor | undefined;
  readonly shown: (run: ListedRun) => boolean;
  /** Nothing that was submitted before is asked for: what follows in the list is older. */
  readonly sinceMs: number;
}

async function listClosed(client: Client, closed: Closed): Promise<RunsPage> {
  const { limit, pageSize, cursor, shown, sinceMs } = closed;
  const found: ListedRun[] = [];
  let page = cursor?.page;
  let after = cursor?.after ?? "";
  for (let read = 0; read < clientLimits.runPagesRead; read += 1) {
    const options = { metadata: true, cursor: page, pageSize };
    const listed = await blobPage(client, client.names.runs, closedBlobs, options);
    for (const blob of listed.blobs) {
      if (blob.name <= after) continue;
      if (found.length === limit) return { runs: found, cursor: encodeCursor(defined({ page, after })) };
      after = blob.name;
      if ((parseClosed(blob.name)?.submittedMs ?? sinceMs) < sinceMs) return { runs: found };
      const run = listedClosed(blob);
      if (run !== undefined && shown(run)) found.push(run);
    }
    page = listed.cursor;
    if (page === undefined) return { runs: found };
    if (found.length === limit) break;
  }
  return { runs: found, cursor: encodeCursor(defined({ page, after })) };
}

function listedClosed({ name, metadata }: ListedBlob): ListedRun | undefined {
  const at = parseClosed(name);
  if (at === undefined) return undefined;
  try {
    return viewOfClosed(decodeClosedRun(metadata, name), at.submittedMs);
  } catch (error) {
    return unreadable(at.id, false, error);
  }
}

function viewOfClosed(
  { finishedMs, retriedMs, earlierMs = 0, cost, by, sha256, ...closed }: ClosedRun,
  submittedMs: number,
): z.infer<typeof endedSchema> {
  const gaps = closed.phase === "complete" && (closed.chunks?.failed ?? 0) > 0;
  return {
    ...defined({
      ...closed,
      submittedBy: by,
      result: sha256 === undefined ? undefined : { sha256 },
      packs: countsOf(closed.packs),
      chunks: countsOf(closed.chunks),
    }),
    word: gaps ? "complete-with-gaps" : closed.phase,
    active: false,
    submittedAt: new Date(submittedMs).toISOString(),
    finishedAt: new Date(finishedMs).toISOString(),
    elapsedS: (earlierMs + Math.max(0, finishedMs - (retriedMs ?? submittedMs))) / 1000,
    ...cost,
  };
}

const countsOf = (counts: ClosedRun["packs"]): RunView["chunks"] =>
  counts && {
    total: counts.total,
    done: counts.done,
    ...splitLost(counts.failed, counts.givenUp),
  };
