import {
  type Bitmap,
  clearBit,
  countBits,
  decodeBitmap,
  emptyBitmap,
  encodeBitmap,
  hasBit,
  setBit,
} from "../../model/bitmap.ts";
import { limits } from "../../model/limits.ts";
import { belongsTo, isOutdated, parseOutputFacts } from "../../model/output.ts";
import { chunksOfPack, type Layout, packsOf, packsOfShard, shardOf, sizeOf } from "../../model/packs.ts";
import { workName } from "../../model/runBlobs.ts";
import type { State } from "../../model/state.ts";
import { checkNamed } from "../../model/storedSpec.ts";
import { prefixAt } from "../../model/tree.ts";
import type { Seen } from "../seen.ts";
import { type Draft, layoutOf, nodeIn } from "./draft.ts";
import { stopAfter } from "./earlyStop.ts";
import { addWasted } from "./wasted.ts";

/**
 * Takes over the plan once a worker has written it: from here the run computes. `older`: the plan is older than the state, so
 * an earlier state was lost, whose leaders may have had any pack computed; what is there has to be counted first.
 */
export function trackPlan(
  draft: Draft,
  { plan, planHash, planMs = Number.POSITIVE_INFINITY }: Pick<Seen, "plan" | "planHash" | "planMs">,
): "planned" | "older" | undefined {
  const { state } = draft;
  if (plan === undefined || state.phase !== "planning") return undefined;
  const { chunks, packSize, shardSize, fanIn, packMs, workers, instance, atOnce, stops, code } = plan;
  if (plan.spec !== undefined) checkNamed("spec", state.run, plan.spec, state.spec);
  state.plan = planHash;
  state.code = code;
  state.layout = { chunks, packSize, shardSize, fanIn, packMs };
  if (stops) state.layout.stops = stops;
  if (workers !== undefined) state.layout.workers = workers;
  if (instance !== undefined) state.layout.instance = instance;
  if (atOnce !== undefined) state.layout.atOnce = atOnce;
  state.phase = "computing";
  delete state.tasks["plan"];
  draft.decided = true;
  if (planMs >= state.createdMs) return "planned";
  state.lost = true;
  state.possiblySentUpTo = packsOf(state.layout);
  return "older";
}

/**
 * Marks listed partials in the bitmaps of their open shards. Success beats an earlier failure. A shard to be
 * recounted takes exactly what its list holds. A partial of another plan or of other code counts as missing, and so does one
 * with gaps of an earlier generation.
 */
export function trackParts(draft: Draft, { parts, shards }: Pick<Seen, "parts" | "shards">): void {
  const { state } = draft;
  if (state.phase !== "computing") return;
  const layout = layoutOf(state);
  let computed = state.packsComputed ?? state.packsDone;
  const found = Map.groupBy(parts, ({ index }) => shardOf(layout, index));
  for (const shard of shards) {
    const open = state.open[shard];
    if (open === undefined) continue;
    const { packs, size, ...bits } = bitsOf(layout, shard, open);
    const { failed } = bits;
    const recount = open.recount === true;
    const done = recount ? emptyBitmap(size) : bits.done;
    let gaps = recount ? 0 : (open.gaps ?? 0);
    for (const { index, contentType } of found.get(shard) ?? []) {
      // Each poll lists all partials of the shard again, so most of them are known.
      if (index < packs.from || index >= packs.to || hasBit(done, index - packs.from)) continue;
      const facts = parseOutputFacts(contentType);
      if (!belongsTo(state, facts) || isOutdated(facts, state.generation)) continue;
      // What came while nobody listed it was computed too.
      const isNew = !hasBit(bits.done, index - packs.from);
      setBit(done, index - packs.from);
      clearBit(failed, index - packs.from);
      gaps += Math.min(facts.gaps?.chunks ?? 0, sizeOf(chunksOfPack(layout, index)));
      delete state.resent[index];
      if (!isNew) continue;
      computed += 1;
      state.computeMs += facts.ms;
      // Those of the same send before it threw; of a copy nothing was attempted.
      addWasted(state, Math.max(facts.attempt - 1, 0), facts.ms);
      if (recount) continue;
      draft.gained += 1;
      state.durationsMs.push(facts.ms);
    }
    open.done = encodeBitmap(done);
    if (gaps > 0) open.gaps = gaps;
    else delete open.gaps;
    delete open.recount;
    if (countBits(failed) > 0) open.failed = encodeBitmap(failed);
    else delete open.failed;
  }
  state.packsComputed = computed;
  state.durationsMs.splice(0, state.durationsMs.length - limits.durationsKept);
}

/** Marks listed nodes. The run ends with the first prefix after which its calculation stops. */
export function trackNodes(draft: Draft, { nodes }: Pick<Seen, "nodes">): void {
  const { state } = draft;
  let stopsAfter: number | undefined;
  for (const { level, index, contentType } of nodes) {
    const node = nodeIn(state, level, index);
    if (node === undefined || node.node || node.gen !== state.generation) continue;
    const facts = parseOutputFacts(contentType);
    if (!belongsTo(state, facts)) continue;
    node.node = true;
    state.taskMsMax["combine"] = Math.max(state.taskMsMax["combine"] ?? 0, facts.ms);
    delete state.tasks[workName({ kind: "node", level, index })];
    draft.decided = true;
    const prefix = prefixAt(layoutOf(state), level, index);
    if (prefix === undefined) continue;
    Object.assign(node, { stops: facts.stops === true });
    if (facts.stops === true) stopsAfter = prefix;
  }
  if (stopsAfter !== undefined) stopAfter(state, stopsAfter);
}

/** The packs of an open shard, and which of them are done or failed by their index in the shard. */
export function bitsOf(layout: Layout, shard: number, { done, failed = "" }: State["open"][string]) {
  const packs = packsOfShard(layout, shard);
  const size = sizeOf(packs);
  return { packs, size, done: decodeBitmap(done, size), failed: decodeBitmap(failed, size) };
}

/** Sent packs without an outcome, in send order; only open shards can have any. */
export function unfinishedPacks({ layout, open, cursor }: State): number[] {
  if (layout === undefined) return [];
  const unfinished: number[] = [];
  for (const shard of Object.keys(open)
    .map(Number)
    .sort((a, b) => a - b)) {
    const { packs, size, done, failed } = bitsOf(layout, shard, open[shard] as State["open"][string]);
    const sent = Math.min(cursor - packs.from, size);
    for (let index = 0; index < sent; index += 1)
      if (!hasBit(done, index) && !hasBit(failed, index)) unfinished.push(packs.from + index);
  }
  return unfinished;
}

/**
 * Counts what the bitmaps say, so that no count can drift from them: packs and chunks done and failed, and packs
 * sent without an outcome. Its cost grows with the open shards; a sealed one costs a few operations.
 */
export function tally(state: State): void {
  if (state.layout !== undefined) Object.assign(state, countsBelow(state, state.layout));
}

type Counts = Pick<State, "packsDone" | "packsFailed" | "inFlight" | "chunksDone" | "chunksFailed">;

/** The same of the shards below one. */
export function countsBelow(state: State, layout: Layout, below = Number.POSITIVE_INFINITY): Counts {
  const all: Counts = { packsDone: 0, packsFailed: 0, inFlight: 0, chunksDone: 0, chunksFailed: 0 };
  for (const shard of [...Object.keys(state.sealed), ...Object.keys(state.open)].map(Number)) {
    if (shard >= below) continue;
    const one = countsOf(state, layout, shard);
    for (const name of Object.keys(all) as (keyof Counts)[]) all[name] += one[name];
  }
  return all;
}

function countsOf({ open, sealed, cursor }: State, layout: Layout, shard: number): Counts {
  const packs = packsOfShard(layout, shard);
  const size = sizeOf(packs);
  /** Chunks that the last pack of the run has less than the others. */
  const short = Math.max(packs.to * layout.packSize - layout.chunks, 0);
  const chunksIn = (bits: Bitmap): number =>
    countBits(bits) * layout.packSize - (hasBit(bits, size - 1) ? short : 0);
  const counts = (packsDone: number, packsFailed: number, chunksDone: number, chunksFailed: number) => {
    const gaps = (sealed[shard] ?? open[shard])?.gaps ?? 0;
    return { packsDone, packsFailed, chunksDone: chunksDone - gaps, chunksFailed: chunksFailed + gaps };
  };
  const chunks = size * layout.packSize - short;
  const one = open[shard];
  if (one !== undefined) {
    const { done, failed } = bitsOf(layout, shard, one);
    const [isDone, isFailed] = [countBits(done), countBits(failed)];
    let inFlight = 0;
    for (let index = 0; index < Math.min(cursor - packs.from, size); index += 1)
      if (!hasBit(done, index) && !hasBit(failed, index)) inFlight += 1;
    return { ...counts(isDone, isFailed, chunksIn(done), chunksIn(failed)), inFlight };
  }
  const members = sealed[shard]?.members;
  if (members === undefined) return { ...counts(size, 0, chunks, 0), inFlight: 0 };
  const done = decodeBitmap(members, size);
  const [isDone, chunksDone] = [countBits(done), chunksIn(done)];
  return { ...counts(isDone, size - isDone, chunksDone, chunks - chunksDone), inFlight: 0 };
}
