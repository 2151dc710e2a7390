import { decodeJson } from "../model/decode.ts";
import { CorruptDataError, NewerVersionError } from "../model/errors.ts";
import { chunksOfPack } from "../model/packs.ts";
import { type Failure, failureSchema, type Plan, segmentSchema } from "../model/run.ts";
import { parseFailure, parseTried, runBlobs, workName } from "../model/runBlobs.ts";
import type { ListedBlob, ListPage } from "../storage/ports.ts";
import { attemptsUnderWay, type TriedNote } from "./attemptsUnderWay.ts";
import { boundedMap } from "./boundedMap.ts";
import type { Client } from "./client.ts";
import { clientLimits } from "./clientLimits.ts";
import { whereAny } from "./places.ts";
import { readPlan, readState, requireSpec, unlessUnreadable } from "./runDocuments.ts";

/** How one send of one piece of work ended without output; or, of work still tried, how its latest attempt did. */
export interface FailureView extends Omit<Failure, "v"> {
  /** `00003/00000042`, `node/1/00003`, `plan` or `finish`. */
  readonly work: string;
  /** Where the work is a pack. */
  readonly pack?: number;
  readonly generation: number;
  readonly send: number;
  /** Of its chunks, in order; only where asked for, a list was planned, and the pack is small. */
  readonly inputs?: readonly unknown[];
}

export interface Failures {
  readonly run: string;
  readonly uid: string;
  readonly failures: readonly FailureView[];
  /** Attempts that failed at work which is still tried. */
  readonly trying: readonly FailureView[];
  /** True if there are more than were asked for. */
  readonly more: boolean;
}

/**
 * The failure records of a run in order of their work, at most `max`, and the failed attempts at work that is still
 * tried. A pack with a record may still have succeeded in another send. With `inputs` the inputs of failed chunks are
 * read from the plan where that is cheap. Throws `InputError` for an unknown run.
 */
export async function failures(
  client: Client,
  id: string,
  options: { readonly max?: number; readonly inputs?: boolean } = {},
): Promise<Failures> {
  const { run, uid } = (await requireSpec(client, id)).value;
  const max = options.max ?? clientLimits.failuresShown;
  const { records, notes } = await listFailed(client, runBlobs(run, uid).failures, max + 1);
  const read = await boundedMap(records.slice(0, max), clientLimits.readsAtOnce, (name) =>
    readRecord(client, name),
  );
  const ended = read.filter((one) => one !== undefined);
  const underWay = await attemptsUnderWay(client, { run, uid }, notes, new Set(records));
  const trying = underWay.map(({ attempt, ...of }) => viewOf(of, attempt));
  const told = await withPlan(client, { run, uid }, [...ended, ...trying], options.inputs === true);
  return {
    ...{ run, uid },
    failures: told.slice(0, ended.length),
    trying: told.slice(ended.length),
    more: records.length > max,
  };
}

/** The plan of the newest generation: a retry may have planned anew. */
async function planNow(client: Client, run: Pick<Failures, "run" | "uid">): Promise<Plan> {
  const state = await readState(client, run.run, run.uid);
  return readPlan(client, { ...run, origin: state?.value.origin });
}

/** What the plan knows of failed packs and their records do not say. */
async function withPlan(
  client: Client,
  run: Pick<Failures, "run" | "uid">,
  found: readonly FailureView[],
  inputs: boolean,
): Promise<readonly FailureView[]> {
  const asks = (one: FailureView): boolean => one.pack !== undefined && (inputs || one.chunks === undefined);
  if (!found.some(asks)) return found;
  const plan = await unlessUnreadable(() => planNow(client, run), { newer: true });
  if (plan === undefined) return found;
  const packs = inputs ? found.flatMap(({ pack }) => pack ?? []) : [];
  const inputsOf = await chunkInputs(client, plan, packs);
  return found.map((one) => {
    if (one.pack === undefined) return one;
    const chunks = one.chunks ?? chunksOfPack(plan, one.pack);
    const told = inputsOf.get(one.pack);
    return told === undefined ? { ...one, chunks } : { ...one, chunks, inputs: told };
  });
}

/** The names of the first `max` records or more, and the notes of failed attempts before and among them. */
async function listFailed(
  client: Client,
  prefix: string,
  max: number,
): Promise<{ readonly records: readonly string[]; readonly notes: readonly ListedBlob[] }> {
  const records: string[] = [];
  const notes: ListedBlob[] = [];
  let cursor: string | undefined;
  do {
    const page: ListPage = await whereAny(client.storage.blobs.list(client.names.runs, prefix, { cursor }), {
      blobs: [],
      dateMs: 0,
    });
    for (const blob of page.blobs) {
      if (parseFailure(blob.name) !== undefined) records.push(blob.name);
      else if (parseTried(blob.name) !== undefined) notes.push(blob);
    }
    cursor = page.cursor;
  } while (cursor !== undefined && records.length < max);
  return { records, notes };
}

async function readRecord(client: Client, name: string): Promise<FailureView | undefined> {
  const parsed = parseFailure(name);
  const found = await client.storage.blobs.read(client.names.runs, name);
  if (parsed === undefined || found.kind === "missing") return undefined;
  return viewOf(parsed, decodeOrSay(found.body, name));
}

const viewOf = (
  { work, generation, send }: Omit<TriedNote, "attempt">,
  { v: _version, ...failure }: Failure,
): FailureView => ({
  work: workName(work),
  ...(work.kind === "pack" ? { pack: work.pack } : {}),
  generation,
  send,
  ...failure,
});

/** A record that cannot be read is still a failure, and the others are still of use. */
function decodeOrSay(body: Uint8Array, name: string): Failure {
  try {
    return decodeJson(failureSchema, body, name);
  } catch (error) {
    if (!(error instanceof CorruptDataError) && !(error instanceof NewerVersionError)) throw error;
    return { v: 1, cause: "error", code: error.code, message: error.message, attempts: 0 };
  }
}

/**
 * The inputs of the chunks of some packs, by pack, where a list was planned and it is cheap to tell: for small packs,
 * from a few segments. A pack whose inputs are not told is left out.
 */
export async function chunkInputs(
  client: Client,
  plan: Plan,
  packs: Iterable<number>,
): Promise<ReadonlyMap<number, readonly unknown[]>> {
  const told = new Map<number, readonly unknown[]>();
  if (plan.segments === undefined || plan.packSize > clientLimits.inputsShownMax) return told;
  const { starts } = plan.segments;
  const segments = segmentReader(client, plan, plan.segments.attempt);
  for (const pack of [...new Set(packs)].sort((a, b) => a - b)) {
    const { from, to } = chunksOfPack(plan, pack);
    const inputs: unknown[] = [];
    let number = starts.findLastIndex((start) => start <= from);
    for (let start = starts[number]; start !== undefined && start < to; start = starts[number]) {
      const segment = await segments(number);
      if (segment === "enough") return told;
      inputs.push(...segment.slice(Math.max(from - start, 0), to - start));
      number += 1;
    }
    if (inputs.length > 0 && inputs.length === to - from) told.set(pack, inputs);
  }
  return told;
}

/** Reads segments in ascending order and keeps one of them, since each may hold megabytes. */
function segmentReader(client: Client, { run, uid, origin }: Plan, attempt: string) {
  let reads = 0;
  let held: { readonly number: number; readonly inputs: readonly unknown[] } | undefined;
  return async (number: number): Promise<readonly unknown[] | "enough"> => {
    if (held?.number === number) return held.inputs;
    if (reads === clientLimits.inputSegmentsRead) return "enough";
    reads += 1;
    const name = runBlobs(run, uid, origin).segment(attempt, number);
    const found = await client.storage.blobs.read(client.names.runs, name);
    const segment =
      found.kind === "missing"
        ? undefined
        : await unlessUnreadable(() => decodeJson(segmentSchema, found.body, name), { newer: true });
    held = { number, inputs: segment?.inputs ?? [] };
    return held.inputs;
  };
}
