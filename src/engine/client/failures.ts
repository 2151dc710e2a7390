import pMap from "p-map";
import * as z from "zod";
import { decodeJson, unlessUnreadable } from "../model/decode.ts";
import { isUnreadable } from "../model/errors.ts";
import { countOf } from "../model/figures.ts";
import { chunksOfPack } from "../model/packs.ts";
import { type Failure, failureSchema, type Plan } from "../model/run.ts";
import { parseFailure, parseTried, runBlobs, workName } from "../model/runBlobs.ts";
import { versions } from "../model/versions.ts";
import type { ListedBlob } from "../storage/ports.ts";
import { type Client, clientLimits } from "./client.ts";
import { blobPages } from "./containersAndQueues.ts";
import { failedAttempts, type TriedNote } from "./failedAttempts.ts";
import { groupFailures, groupSchema } from "./failureGroups.ts";
import { rangeInputs } from "./planInputs.ts";
import { readPlan, readState, requireSpec } from "./runDocuments.ts";
import { count, generation, list, runKey, text } from "./viewSchemas.ts";

const failureViewSchema = z
  .object({
    work: text.describe("`00003/00000042`, `node/1/00003`, `plan` or `finish`."),
    pack: count.describe("The number of the pack, if the work is a pack.").exactOptional(),
    generation,
    send: z.int().positive(),
    ...failureSchema.omit({ v: true, named: true }).shape,
    inputs: list(z.unknown())
      .describe("The inputs of its chunks, in order: only on request, for a listed plan and a small pack.")
      .exactOptional(),
  })
  .describe(
    "How one send of one piece of work ended without output, or one chunk of it; or the latest failed attempt of work that is still tried. `chunks` are those that failed, where that is known, and else the whole pack.",
  )
  .meta({ id: "Failure" });
export type FailureView = z.infer<typeof failureViewSchema>;

export const failuresSchema = z
  .object({
    ...runKey,
    failures: list(failureViewSchema),
    groups: list(groupSchema).describe(
      "The same by their errors, the most frequent first; of those listed only.",
    ),
    trying: list(failureViewSchema).describe("Failed attempts at work that is still tried."),
    more: z.boolean().describe("Whether there are more failures than requested."),
  })
  .meta({ id: "Failures" });
export type Failures = z.infer<typeof failuresSchema>;

/**
 * The failures of a run in order of their work, at most `max`, and the failed attempts at work that is still
 * tried. A pack with a record may still have succeeded in another send. With `inputs`, the inputs of failed chunks are
 * read from the plan if that is cheap. Throws `InputError` for an unknown run.
 */
export async function failures(
  client: Client,
  id: string,
  options: { readonly max?: number; readonly inputs?: boolean } = {},
): Promise<Failures> {
  const { run, uid } = (await requireSpec(client, id)).value;
  const max = options.max ?? clientLimits.failuresShown;
  const { records, notes } = await listFailed(client, runBlobs(run, uid).failures, max + 1);
  if (records.length === 0 && notes.length === 0)
    return { run, uid, failures: [], groups: [], trying: [], more: false };
  const known = await unlessUnreadable(async () => ({ state: (await readState(client, run, uid))?.value }));
  const read = (name: string) => readRecord(client, name);
  const readable = await pMap(records.slice(0, max), read, { concurrency: clientLimits.readsAtOnce });
  // A record may tell of several chunks.
  const found = readable.flatMap((one) => (one === undefined ? [] : byChunk(one)));
  const ended = found.slice(0, max);
  const attempts = known?.state ? await failedAttempts(client, known.state, notes, new Set(records)) : [];
  const trying = attempts.flatMap(({ attempt, ...send }) => byChunk(viewOf(send, attempt)));
  // The plan of the newest generation, which only a readable state names: a retry may have planned anew.
  const plan = async () => known && (await unlessUnreadable(() => readPlan(client, { run, uid })))?.value;
  const all = await withChunks(client, plan, [...ended, ...trying], options.inputs === true);
  const failures = all.slice(0, ended.length);
  return {
    run,
    uid,
    failures,
    groups: groupFailures(failures),
    trying: all.slice(ended.length),
    more: records.length > max || found.length > max,
  };
}

/** Adds from the plan the chunks that the records do not have, and the inputs on request. */
async function withChunks(
  client: Client,
  readPlan: () => Promise<Plan | undefined>,
  found: readonly FailureView[],
  inputs: boolean,
): Promise<readonly FailureView[]> {
  if (!found.some(({ pack, chunks }) => pack !== undefined && (inputs || chunks === undefined))) return found;
  const plan = await readPlan();
  if (plan === undefined) return found;
  const all = found.map((one) =>
    one.pack === undefined ? one : { ...one, chunks: one.chunks ?? chunksOfPack(plan, one.pack) },
  );
  const known = inputs
    ? await rangeInputs(
        client,
        plan,
        all.flatMap(({ chunks }) => chunks ?? []),
      )
    : undefined;
  return all.map((one) => {
    const its = one.chunks && known?.get(one.chunks);
    return its === undefined ? one : { ...one, inputs: its };
  });
}

/** A record by what failed: one failure for each chunk that it tells of, or one for those at which its send ended. */
function byChunk(failure: FailureView): readonly FailureView[] {
  const { gaps, chunk: _, ...one } = failure;
  if (gaps === undefined) return [one];
  const told = gaps.first.map(({ chunk, code, message }) => ({
    ...{ ...one, chunks: { from: chunk, to: chunk + 1 } },
    ...{ code: code || one.code, message: message || `chunk ${chunk}: failed` },
  }));
  const more = gaps.failed - told.length;
  return more > 0
    ? [...told, { ...one, message: `${countOf(more, "further chunk")} of these failed` }]
    : told;
}

/** The names of the first `max` records or more, and the notes of failed attempts before and among them. */
async function listFailed(client: Client, prefix: string, max: number) {
  const records: string[] = [];
  const notes: ListedBlob[] = [];
  for await (const { blobs } of blobPages(client, client.names.runs, prefix)) {
    for (const blob of blobs) {
      if (parseFailure(blob.name) !== undefined) records.push(blob.name);
      else if (parseTried(blob.name) !== undefined) notes.push(blob);
    }
    if (records.length >= max) break;
  }
  return { records, notes };
}

async function readRecord(client: Client, name: string): Promise<FailureView | undefined> {
  const parsed = parseFailure(name);
  const found = await client.storage.blobs.read(client.names.runs, name);
  if (parsed === undefined || found.kind === "missing") return undefined;
  return viewOf(parsed, decodeOrDescribe(found.body, name));
}

const viewOf = (
  { work, generation, send }: Omit<TriedNote, "attempt">,
  { v: _version, named: _named, ...failure }: Failure,
): FailureView => ({
  work: workName(work),
  ...(work.kind === "pack" ? { pack: work.pack } : {}),
  generation,
  send,
  ...failure,
});

/** A record that cannot be decoded is still a failure: the error of decoding it is shown in its place. */
function decodeOrDescribe(body: Uint8Array, name: string): Failure {
  try {
    return decodeJson(failureSchema, body, name);
  } catch (error) {
    if (!isUnreadable(error)) throw error;
    return { v: versions.failure, cause: "error", code: error.code, message: error.message, attempts: 0 };
  }
}
