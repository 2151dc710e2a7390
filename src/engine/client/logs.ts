import pMap from "p-map";
import * as z from "zod";
import { chunksOfPack, packsOf, shardOf } from "../model/packs.ts";
import { decodePrinted, printedLineSchema } from "../model/printed.ts";
import { runBlobs } from "../model/runBlobs.ts";
import type { ListedBlob } from "../storage/ports.ts";
import { type Client, clientLimits, iso } from "./client.ts";
import { blobPages } from "./containersAndQueues.ts";
import { type RunKey, readState, requireSpec } from "./runDocuments.ts";
import { invalid } from "./runRequest.ts";
import { count, generation, list, runKey, text, time } from "./viewSchemas.ts";

const lineSchema = z
  .object({
    at: time.describe("By the clock of the instance."),
    ...printedLineSchema.omit({ atMs: true }).shape,
    work: text.describe("`00003/00000042` for a pack, `node/1/00003`, `plan` or `finish`."),
    generation,
    attempt: text.describe("`{send}-{delivery}-{random}`."),
    instance: text,
  })
  .describe("A line that user code printed.")
  .meta({ id: "LogLine" });
export type LogLine = z.infer<typeof lineSchema>;

export const logsSchema = z
  .object({
    ...runKey,
    lines: list(lineSchema).describe("In the order of their times."),
    more: count.describe("Lines that were not kept, or are not among these."),
    until: time.describe(
      "Given as `since` it has the next answer begin here: with the attempts of this second, and what ended later.",
    ),
  })
  .meta({ id: "Logs" });
export type Logs = z.infer<typeof logsSchema>;

export interface LogsQuery {
  /** Only what was printed while this chunk was computed, or beside chunks in its pack. */
  readonly chunk?: number | undefined;
  /** Lines at most; the newest. */
  readonly max?: number | undefined;
  /** `until` of an answer: attempts that ended before are not read again. */
  readonly since?: string | undefined;
}

/**
 * What a run's `plan`, `compute`, `merge` and `finish` printed by `console`, of attempts that have ended: at most 200 lines of
 * each, and of 500 attempts of each instance. Costs a list, and a read for each attempt that printed. Throws `InputError`.
 *
 * Not promised: lines of a process that died.
 */
export async function logs(client: Client, id: string, query: LogsQuery = {}): Promise<Logs> {
  const { run, uid } = (await requireSpec(client, id)).value;
  const max = query.max ?? clientLimits.logLinesShown;
  const blobs: ListedBlob[] = [];
  const prefix = await prefixOf(client, { run, uid }, query.chunk);
  for await (const page of blobPages(client, client.names.runs, prefix, { metadata: true }))
    blobs.push(...page.blobs);
  const sinceMs = Date.parse(query.since ?? "") || 0;
  const newest = blobs
    .filter(({ lastModifiedMs }) => lastModifiedMs >= sinceMs)
    .sort((a, b) => b.lastModifiedMs - a.lastModifiedMs)
    .slice(0, clientLimits.logBlobsRead);
  const read = await pMap(newest, (blob) => linesOf(client, { run, uid }, blob), {
    concurrency: clientLimits.readsAtOnce,
  });
  const all = read
    .flatMap(({ lines }) => lines)
    .filter(({ chunk }) => query.chunk === undefined || chunk === undefined || chunk === query.chunk)
    .sort((a, b) => a.at.localeCompare(b.at));
  const lines = all.slice(-max);
  const until = iso(newest[0]?.lastModifiedMs ?? sinceMs);
  return {
    run,
    uid,
    lines,
    until,
    more: read.reduce((sum, one) => sum + one.more, all.length - lines.length),
  };
}

async function prefixOf(client: Client, { run, uid }: RunKey, chunk: number | undefined): Promise<string> {
  const at = runBlobs(run, uid);
  if (chunk === undefined) return at.printed;
  const layout = (await readState(client, run, uid))?.value.layout;
  if (layout === undefined) throw invalid("chunk", "the run has no plan yet");
  const pack = Math.floor(chunk / layout.packSize);
  if (pack >= packsOf(layout) || chunk >= chunksOfPack(layout, pack).to)
    throw invalid("chunk", `the run has chunks 0 to ${layout.chunks - 1}`);
  return at.printedOf({ kind: "pack", shard: shardOf(layout, pack), pack });
}

/** The work and the attempt in a name. */
function placeOf({ run, uid }: RunKey, name: string): Pick<LogLine, "work" | "attempt"> {
  const below = name.slice(runBlobs(run, uid).printed.length);
  const at = below.lastIndexOf("/");
  return { work: below.slice(0, at), attempt: below.slice(at + 1) };
}

async function linesOf(
  client: Client,
  key: RunKey,
  { name, metadata }: ListedBlob,
): Promise<{ readonly lines: readonly LogLine[]; readonly more: number }> {
  const found = await client.storage.blobs.read(client.names.runs, name);
  const body = found.kind === "missing" ? "" : Buffer.from(found.body).toString();
  const printed = decodePrinted(metadata, body);
  if (printed === undefined) return { lines: [], more: 0 };
  const { generation, instance, more, lines } = printed;
  const about = { ...placeOf(key, name), generation, instance };
  return { lines: lines.map(({ atMs, ...line }) => ({ ...line, ...about, at: iso(atMs) })), more };
}
