import { newLists, newRunNotes } from "../../src/engine/leader/notes.ts";
import type { Seen, SeenFailure, SeenOutput } from "../../src/engine/leader/seen.ts";
import { limits } from "../../src/engine/model/limits.ts";
import type { Marker } from "../../src/engine/model/marker.ts";
import { outputContentType, planTag } from "../../src/engine/model/output.ts";
import type { Manifest, Plan, Spec } from "../../src/engine/model/run.ts";
import type { Work } from "../../src/engine/model/runBlobs.ts";
import { firstState, type State } from "../../src/engine/model/state.ts";
import { documentHash, requestHashOf } from "../../src/engine/model/storedSpec.ts";

/** Pieces of a run for tests of the decisions. */
export const specOf = (spec: Omit<Spec, "v" | "requestHash">): Spec => ({
  ...spec,
  v: 1,
  requestHash: requestHashOf(spec),
});
export const spec = specOf({ run: "r", uid: "u", calculation: "sum", params: {} });
export const marker: Marker = { uid: "u", want: "run", generation: 1, cap: 2000, turn: 0, command: 0 };

const code = "sum@1";

/** Small shards, and of any number of packs: only the fold would notice that it is no power of two. */
const shardSizeOf = (packs: number): number =>
  packs <= limits.directPacksMax ? limits.directPacksMax : Math.ceil(Math.sqrt(packs));

export const planOf = (chunks: number, packSize = 1): Plan => ({
  v: 1,
  run: "r",
  uid: "u",
  code,
  spec: "a".repeat(64),
  chunks,
  packSize,
  shardSize: shardSizeOf(Math.ceil(chunks / packSize)),
  fanIn: 1000,
  packMs: 500,
});

const planHash = "a".repeat(64);
/** Of an output of these runs. */
export const contentTypeOf = (ms = 1000, plan = planHash): string =>
  outputContentType("application/json", { ms, attempt: 1, plan: planTag(plan), code });

/** The same for a run with this plan that `addRun` makes. */
export const contentTypeIn = (plan: Plan, id = "r", ms = 1000, of: Partial<Spec> = {}): string =>
  contentTypeOf(ms, documentHash(JSON.stringify(planIn(plan, specIn(id, of)))));

/** Spec and plan of a run with this id, whose uid begins with `uid`. */
export const specIn = (id: string, change: Partial<Spec> = {}): Spec =>
  specOf({ run: id, uid: `uid${id}`, calculation: "sum", params: {}, ...change });
export const planIn = (plan: Plan, spec: Spec): Plan => ({
  ...plan,
  ...{ run: spec.run, uid: spec.uid, spec: documentHash(JSON.stringify(spec)) },
});

export const part = (index: number, ms = 1000): SeenOutput => ({ index, contentType: contentTypeOf(ms) });
export const parts = (from: number, to: number, ms?: number): SeenOutput[] =>
  Array.from({ length: to - from }, (_, offset) => part(from + offset, ms));

export const failure = (
  work: Work,
  send = 1,
  cause = "error",
  generation = 1,
  more: Partial<SeenFailure> = {},
): SeenFailure => ({
  ...{ work, generation, send, cause },
  ...{ code: cause === "error" ? "calculation-threw" : cause, message: "it broke" },
  ...{ attempts: 5, attemptsMax: 5, final: false },
  ...more,
});

export const packFailure = (
  pack: number,
  send = 1,
  cause = "error",
  more: Partial<SeenFailure> = {},
): SeenFailure => failure({ kind: "pack", shard: 0, pack }, send, cause, 1, more);

export const seen = (found: Partial<Seen> = {}): Seen => ({
  spec,
  marker,
  parts: [],
  shards: new Set(Array.from({ length: 1000 }, (_, shard) => shard)),
  nodes: [],
  failures: [],
  tried: [],
  unlisted: false,
  lists: newLists(0),
  ...(found.plan && { planHash }),
  ...found,
});

export const manifest: Manifest = {
  v: 1,
  run: "r",
  uid: "u",
  generation: 1,
  calculation: "sum",
  requestHash: "h",
  spec: "a".repeat(64),
  plan: planHash,
  attempt: "1-1-abcdefgh",
  blob: "r/u/001/1-1-abcdefgh/result.json",
  contentType: "application/json",
  bytes: 1,
  sha256: "00",
  chunks: 1,
  folded: 1,
  packs: 1,
  complete: true,
  missing: [],
  code: [],
  attempts: 1,
  terms: [],
};

/** A run of so many packs whose plan is known and of which nothing was sent. */
export function computing(chunks: number, packSize = 1): State {
  const { packMs, shardSize, fanIn } = planOf(chunks, packSize);
  const state = firstState({ run: "r", uid: "u", generation: 1, cap: 2000, nowMs: 0 });
  return {
    ...state,
    phase: "computing",
    code,
    plan: planHash,
    layout: { chunks, packSize, shardSize, fanIn, packMs },
  };
}

export const runNotes = () => newRunNotes(0);
