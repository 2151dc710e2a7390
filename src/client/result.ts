import { CorruptDataError, InputError, NotReadyError } from "../model/errors.ts";
import type { Manifest } from "../model/run.ts";
import { isFinal, type State } from "../model/state.ts";
import { checkedStream } from "./checkedStream.ts";
import type { Client } from "./client.ts";
import { newestManifest, vouchedManifest } from "./newestManifest.ts";
import { readMarker, readState, requireSpec } from "./runDocuments.ts";

export interface OpenResult {
  readonly manifest: Manifest;
  /** The bytes asked for. A whole result is checked on its way: the stream throws `CorruptDataError` at its end. */
  readonly body: AsyncIterable<Uint8Array>;
}

export interface ResultOptions {
  /** The newest by default. */
  readonly generation?: number | undefined;
  readonly signal?: AbortSignal;
}

/**
 * The manifest of a run's result. Throws `InputError` `unknown` for a run or generation that is not there, and
 * `NotReadyError` with `not-finished`, `run-failed` or `run-cancelled` where there is no result (yet).
 */
export async function findManifest(
  client: Client,
  id: string,
  options: ResultOptions = {},
): Promise<Manifest> {
  const spec = (await requireSpec(client, id)).value;
  const marker = (await readMarker(client, id))?.value;
  const state = (await readState(client, id, spec.uid))?.value;
  const newest = Math.max(state?.generation ?? 1, marker?.uid === spec.uid ? marker.generation : 1);
  const given = (generation: number) =>
    state === undefined ? undefined : vouchedManifest(client, state, generation);
  if (options.generation !== undefined) {
    const manifest = await given(options.generation);
    if (manifest !== undefined) return manifest;
    throw noGeneration(id, options.generation, newest);
  }
  // While the newest generation is at work an older result is given only to those who ask for it by number.
  if (state === undefined || state.generation < newest || !isFinal(state.phase)) {
    const manifest = await given(newest);
    if (manifest !== undefined) return manifest;
    throw notFinished(id, state, newest);
  }
  const manifest = await newestManifest(client, state);
  if (manifest !== undefined) return manifest;
  throw noResult(id, state);
}

/** Opens the result's bytes, or `count` of them from `offset`. */
export async function openResult(
  client: Client,
  manifest: Manifest,
  part: { readonly offset?: number; readonly count?: number; readonly signal?: AbortSignal } = {},
): Promise<OpenResult> {
  const found = await client.storage.blobs.stream(client.names.results, manifest.blob, part);
  if (found.kind !== "found") {
    throw new CorruptDataError("result-missing", `the result of ${manifest.run} is gone: ${manifest.blob}`);
  }
  const whole = (part.offset ?? 0) === 0 && (part.count ?? manifest.bytes) >= manifest.bytes;
  return { manifest, body: whole ? checkedStream(found.body, manifest) : found.body };
}

function notFinished(id: string, state: State | undefined, generation: number): NotReadyError {
  const phase = state === undefined || state.generation < generation ? "waiting" : state.phase;
  const which =
    generation === 1
      ? ""
      : ` in generation ${generation}; an older result is given by its generation's number`;
  return new NotReadyError("not-finished", `run ${id} is not finished: it is ${phase}${which}`, {
    retry: "later",
  });
}

function noResult(id: string, state: State): Error {
  if (state.phase === "cancelled")
    return new NotReadyError("run-cancelled", `run ${id} was cancelled: it has no result`);
  if (state.phase === "failed") {
    const why = state.error === undefined ? "" : `: ${state.error.message}`;
    return new NotReadyError("run-failed", `run ${id} failed and has no result${why}`);
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
