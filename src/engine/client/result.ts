import { createHash } from "node:crypto";
import type * as z from "zod";
import { decodeValue, parseJson } from "../model/decode.ts";
import { CorruptDataError, InputError, NotReadyError } from "../model/errors.ts";
import { fileListSchema, type SavedFile, savedFileSchema, sha256OfFile } from "../model/fileList.ts";
import { fileListType } from "../model/json.ts";
import { calculationLimits } from "../model/limits.ts";
import type { Manifest } from "../model/run.ts";
import { resultBlobs } from "../model/runBlobs.ts";
import { isFinal, type State, stateSchema } from "../model/state.ts";
import type { Client } from "./client.ts";
import {
  newestManifest,
  type RunKey,
  readMarker,
  readState,
  requireSpec,
  vouchedManifest,
} from "./runDocuments.ts";

/**
 * Passes the bytes on and compares them with the manifest; throws `CorruptDataError` after the last byte if they differ.
 * The caller must not use the bytes before the stream has ended without an error.
 */
export async function* checkedStream(
  body: AsyncIterable<Uint8Array>,
  manifest: Pick<Manifest, "run" | "bytes" | "sha256">,
): AsyncGenerator<Uint8Array, void, undefined> {
  const hash = createHash("sha256");
  let bytes = 0;
  for await (const piece of body) {
    hash.update(piece);
    bytes += piece.byteLength;
    yield piece;
  }
  const sha256 = hash.digest("hex");
  if (sha256 === manifest.sha256 && bytes === manifest.bytes) return;
  throw resultDiffers(manifest, bytes, sha256);
}

export const resultDiffers = (
  manifest: Pick<Manifest, "run" | "bytes" | "sha256">,
  bytes: number,
  sha256: string,
): CorruptDataError =>
  new CorruptDataError(
    "result-hash",
    `the result of ${manifest.run} is not what its manifest says: ${bytes} bytes with SHA-256 ${sha256}, ` +
      `expected ${manifest.bytes} with ${manifest.sha256}`,
  );

export const newestSchema = stateSchema
  .pick({ generation: true, phase: true })
  .describe(
    "The run's newest generation and how it ended, if it has no result and an older one is given in its place.",
  );

export interface FoundResult {
  readonly manifest: Manifest;
  readonly newest?: z.infer<typeof newestSchema>;
}

/** Some of the bytes; without `offset` all of them. */
interface Part {
  readonly offset?: number;
  readonly count?: number;
  /** The ETag of the result that other parts were read of. */
  readonly ifMatch?: string;
  /** A piece is used only until the next one is asked for. */
  readonly transient?: boolean;
  readonly signal?: AbortSignal;
}

interface ResultQuery {
  readonly generation?: number | undefined;
}

/**
 * The result of a run. Throws `InputError` `unknown` for an unknown run or generation, and `NotReadyError` with
 * `not-finished`, `run-failed` or `run-cancelled` if there is no result (yet).
 */
export async function findResult(
  client: Client,
  id: string,
  options: ResultQuery = {},
): Promise<FoundResult> {
  const spec = (await requireSpec(client, id)).value;
  const marker = (await readMarker(client, id))?.value;
  const state = (await readState(client, id, spec.uid))?.value;
  const newest = Math.max(state?.generation ?? 1, marker?.uid === spec.uid ? marker.generation : 1);
  const given = (generation: number) =>
    state === undefined ? undefined : vouchedManifest(client, state, generation);
  if (options.generation !== undefined) {
    const manifest = await given(options.generation);
    if (manifest !== undefined) return { manifest };
    throw noGeneration(id, options.generation, newest);
  }
  // While the newest generation works, an older result is given only by its generation number.
  if (state === undefined || state.generation < newest || !isFinal(state.phase)) {
    const manifest = await given(newest);
    if (manifest !== undefined) return { manifest };
    throw notFinished(id, state, newest);
  }
  const manifest = await newestManifest(client, state);
  if (manifest === undefined) throw noResult(id, state);
  const { generation, phase } = state;
  return { manifest, ...(manifest.generation < generation ? { newest: { generation, phase } } : {}) };
}

/** The manifest of a run's result. Throws as `findResult`. */
export const findManifest = async (
  client: Client,
  id: string,
  options: ResultQuery = {},
): Promise<Manifest> => (await findResult(client, id, options)).manifest;

/**
 * Opens the result's bytes, or `count` of them from `offset`. A whole result is checked: the stream throws
 * `CorruptDataError` at its end.
 */
export async function openResult(
  client: Client,
  manifest: Manifest,
  part: Part = {},
): Promise<{ readonly body: AsyncIterable<Uint8Array> }> {
  const found = await client.storage.blobs.stream(client.names.results, manifest.blob, part);
  if (found.kind !== "found") throw resultGone(manifest, found.kind);
  const whole = (part.offset ?? 0) === 0 && (part.count ?? manifest.bytes) >= manifest.bytes;
  return { body: whole ? checkedStream(found.body, manifest) : found.body };
}

/** The ETag of a result, under which all its parts are read. Throws `CorruptDataError` if it is gone. */
export async function etagOfResult(client: Client, manifest: Manifest, signal: AbortSignal): Promise<string> {
  const found = await client.storage.blobs.head(client.names.results, manifest.blob, { signal });
  if (found.kind === "found") return found.properties.etag;
  throw resultGone(manifest, found.kind);
}

export const resultGone = (
  { run, blob }: Pick<Manifest, "run" | "blob">,
  kind: "missing" | "conflict",
): CorruptDataError =>
  kind === "missing"
    ? new CorruptDataError("result-missing", `the result of ${run} is gone: ${blob}`)
    : new CorruptDataError("result-replaced", `the result of ${run} was replaced while it was read: ${blob}`);

/** The name under which a result is saved. */
export const resultFileName = ({ run, blob }: Pick<Manifest, "run" | "blob">): string =>
  `${run}.${/\.([A-Za-z0-9]+)$/.exec(blob)?.[1] ?? "bin"}`;

/** The files that a result lists, in order; undefined for any other result. Throws `CorruptDataError` as `openResult`. */
export async function listSavedFiles(
  client: Client,
  manifest: Manifest,
): Promise<readonly SavedFile[] | undefined> {
  if (manifest.contentType !== fileListType) return undefined;
  const { body } = await openResult(client, manifest);
  const bytes = Buffer.concat(await Array.fromAsync(body));
  const what = `the result of ${manifest.run}`;
  return decodeValue(fileListSchema, parseJson(bytes, what, calculationLimits.resultBytesMax), what).files;
}

/** A file that chunks of a run saved, by the name that a result lists. Throws `InputError` where there is none. */
export async function findSavedFile(client: Client, id: string, name: string): Promise<RunKey & SavedFile> {
  const { run, uid } = (await requireSpec(client, id)).value;
  const unknown = new InputError("unknown", "unknown-file", `name: run ${id} saved no file of this name`, {
    field: "name",
  });
  if (!savedFileSchema.shape.name.safeParse(name).success) throw unknown;
  const head = await client.storage.blobs.head(client.names.results, resultBlobs(run, uid).file(name));
  if (head.kind !== "found") throw unknown;
  return { run, uid, name, bytes: head.properties.bytes };
}

/**
 * Opens a file that a result lists, or `count` bytes of it from `offset`. Of a whole file the stream throws `CorruptDataError` at its
 * end if it is another.
 */
export async function openSavedFile(
  client: Client,
  { run, uid }: RunKey,
  { name, bytes }: SavedFile,
  part: Part = {},
): Promise<AsyncIterable<Uint8Array>> {
  const blob = resultBlobs(run, uid).file(name);
  const found = await client.storage.blobs.stream(client.names.results, blob, part);
  if (found.kind !== "found")
    throw new CorruptDataError("result-missing", `a file of the result of ${run} is gone: ${blob}`);
  if (part.offset !== undefined) return found.body;
  return checkedStream(found.body, { run, bytes, sha256: sha256OfFile(name) });
}

function notFinished(id: string, state: State | undefined, generation: number): NotReadyError {
  const isNew = state === undefined || state.generation < generation;
  const word = isNew ? "waiting" : state.paused ? "paused" : state.phase;
  const hint = ` in generation ${generation}; an older result is given by its generation's number`;
  const message = `run ${id} is not finished: it is ${word}${generation === 1 ? "" : hint}`;
  return new NotReadyError("not-finished", message, { retry: "later" });
}

function noResult(id: string, state: State): Error {
  if (state.phase === "cancelled")
    return new NotReadyError("run-cancelled", `run ${id} was cancelled: it has no result`);
  if (state.phase === "failed") {
    const why = state.error === undefined ? "" : `: ${state.error.message}`;
    const details = { cause: state.error?.code };
    return new NotReadyError("run-failed", `run ${id} failed and has no result${why}`, { details });
  }
  return new CorruptDataError("manifest-missing", `run ${id} is complete, but its manifest is gone`);
}

const noGeneration = (id: string, generation: number, newest: number): InputError =>
  new InputError(
    "unknown",
    "unknown-generation",
    `generation: run ${id} has no result of generation ${generation}; its newest generation is ${newest}`,
    { field: "generation" },
  );
