import { decodeJson } from "../model/decode.ts";
import type { Marker } from "../model/marker.ts";
import { lastNumberOf, type Names, parseFailure, resultBlobs, runBlobs } from "../model/names.ts";
import { parseOutputFacts } from "../model/output.ts";
import { manifestSchema, planSchema, type Spec } from "../model/run.ts";
import type { State } from "../model/state.ts";
import type { BlobStore, ListedBlob } from "../storage/ports.ts";
import { type Seen, type SeenFailure, type SeenOutput, wantedOf } from "./seen.ts";

/**
 * One look at a run: the calls that `wantedOf` finds worth making. The leader reads plans, manifests and lists,
 * never a partial's bytes, so its cost does not grow with what workers compute.
 */
export async function look(
  blobs: BlobStore,
  names: Names,
  run: {
    readonly spec: Spec;
    readonly state: State;
    readonly marker: Marker;
    readonly nowMs: number;
    readonly failuresDue: boolean;
  },
  signal: AbortSignal,
): Promise<Seen> {
  const { spec, state, marker, nowMs } = run;
  const wanted = wantedOf(state, run.failuresDue);
  const at = runBlobs(state.run, state.uid);
  const list = (prefix: string, metadata = false) => listAll(blobs, names.runs, prefix, metadata, signal);

  const [plan, manifest, parts, nodes, failures] = await Promise.all([
    wanted.plan ? blobs.read(names.runs, at.plan, { signal }) : undefined,
    wanted.manifest ? readManifest(blobs, names, state, signal) : undefined,
    Promise.all(wanted.shards.map((shard) => list(at.partsOf(shard)))),
    wanted.nodes ? list(at.nodesOf(state.generation, 1)) : [],
    wanted.failures ? list(at.failures, true) : [],
  ]);

  return {
    nowMs,
    spec,
    marker,
    parts: parts.flat().flatMap(seenOutput),
    nodes: nodes.flatMap(seenOutput),
    failures: failures.flatMap(seenFailure),
    ...(plan?.kind === "found" ? { plan: decodeJson(planSchema, plan.body, at.plan) } : {}),
    ...(manifest === undefined ? {} : { manifest }),
  };
}

/** The manifest of the state's generation, if it is there. */
export async function readManifest(blobs: BlobStore, names: Names, state: State, signal: AbortSignal) {
  const name = resultBlobs(state.run, state.uid).manifest(state.generation);
  const found = await blobs.read(names.results, name, { signal });
  return found.kind === "found" ? decodeJson(manifestSchema, found.body, name) : undefined;
}

async function listAll(
  blobs: BlobStore,
  container: string,
  prefix: string,
  metadata: boolean,
  signal: AbortSignal,
): Promise<ListedBlob[]> {
  const all: ListedBlob[] = [];
  let cursor: string | undefined;
  do {
    const page = await blobs.list(container, prefix, { metadata, cursor, signal });
    all.push(...page.blobs);
    cursor = page.cursor;
  } while (cursor !== undefined);
  return all;
}

function seenOutput(blob: ListedBlob): SeenOutput[] {
  const index = lastNumberOf(blob.name);
  return Number.isSafeInteger(index) ? [{ index, facts: parseOutputFacts(blob.contentType) }] : [];
}

/** A failure record tells its cause and message in metadata, so that one list call brings them all. */
function seenFailure(blob: ListedBlob): SeenFailure[] {
  const parsed = parseFailure(blob.name);
  if (parsed === undefined) return [];
  const message = Buffer.from(blob.metadata["message"] ?? "", "base64url").toString("utf8");
  return [{ ...parsed, cause: blob.metadata["cause"] ?? "error", message }];
}
