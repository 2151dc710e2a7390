import { decodeJson } from "../model/decode.ts";
import { CorruptDataError, NewerVersionError } from "../model/errors.ts";
import { parseFailure, runBlobs, workName } from "../model/names.ts";
import { chunksOfPack } from "../model/packs.ts";
import { type Failure, failureSchema } from "../model/run.ts";
import type { ListPage } from "../storage/ports.ts";
import { boundedMap } from "./boundedMap.ts";
import { chunkInputs } from "./chunkInputs.ts";
import type { Client } from "./client.ts";
import { clientLimits } from "./clientLimits.ts";
import { whereAny } from "./places.ts";
import { readPlan, requireSpec } from "./runDocuments.ts";
import { unlessUnreadable } from "./unlessUnreadable.ts";

/** How one send of one piece of work ended without output. */
export interface FailureView extends Pick<Failure, "cause" | "code" | "message" | "attempts" | "chunks"> {
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
  /** True if there are more than were asked for. */
  readonly more: boolean;
}

/**
 * The failure records of a run in order of their work, at most `max`. A pack with a record may still have
 * succeeded in another send. With `inputs` the inputs of failed chunks are looked up in the plan where that is cheap.
 * Throws `InputError` for an unknown run.
 */
export async function failures(
  client: Client,
  id: string,
  options: { readonly max?: number; readonly inputs?: boolean } = {},
): Promise<Failures> {
  const { run, uid } = (await requireSpec(client, id)).value;
  const max = options.max ?? clientLimits.failuresShown;
  const names = await listRecords(client, runBlobs(run, uid).failures, max + 1);
  const read = await boundedMap(names.slice(0, max), clientLimits.readsAtOnce, (name) =>
    readRecord(client, name),
  );
  const found = read.filter((one) => one !== undefined);
  const told = await withPlan(client, { run, uid }, found, options.inputs === true);
  return { run, uid, failures: told, more: names.length > max };
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
  const plan = await unlessUnreadable(() => readPlan(client, run), { newer: true });
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

async function listRecords(client: Client, prefix: string, max: number): Promise<string[]> {
  const names: string[] = [];
  let cursor: string | undefined;
  do {
    const page: ListPage = await whereAny(client.storage.blobs.list(client.names.runs, prefix, { cursor }), {
      blobs: [],
      dateMs: 0,
    });
    names.push(...page.blobs.map((blob) => blob.name).filter((name) => parseFailure(name) !== undefined));
    cursor = page.cursor;
  } while (cursor !== undefined && names.length < max);
  return names.slice(0, max);
}

async function readRecord(client: Client, name: string): Promise<FailureView | undefined> {
  const parsed = parseFailure(name);
  const found = await client.storage.blobs.read(client.names.runs, name);
  if (parsed === undefined || found.kind === "missing") return undefined;
  const { v: _version, ...failure } = decodeOrSay(found.body, name);
  const { work, generation, send } = parsed;
  return {
    work: workName(work),
    ...(work.kind === "pack" ? { pack: work.pack } : {}),
    generation,
    send,
    ...failure,
  };
}

/** A record that cannot be read is still a failure, and the others are still of use. */
function decodeOrSay(body: Uint8Array, name: string): Failure {
  try {
    return decodeJson(failureSchema, body, name);
  } catch (error) {
    if (!(error instanceof CorruptDataError) && !(error instanceof NewerVersionError)) throw error;
    return { v: 1, cause: "error", code: error.code, message: error.message, attempts: 0 };
  }
}
