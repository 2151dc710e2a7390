import { countBits, decodeBitmap, hasBit } from "../../../../src/engine/model/bitmap.ts";
import { chunksOfPack, packsOfShard, shardOf, sizeOf } from "../../../../src/engine/model/packs.ts";
import type { State } from "../../../../src/engine/model/state.ts";
import type { Check, Scene } from "./judge.ts";
import { parsed, placeOf, type RunRecord } from "./ledger.ts";

const checker = "every chunk is counted once";

/** The counts of each state that is written are those of its bitmaps, and a pack counted as done has its partial. */
export const chunksAreCountedOnce =
  ({ ledger, report }: Scene): Check =>
  (effect) => {
    if (effect.kind !== "created" && effect.kind !== "replaced") return;
    const place = placeOf(effect.container, effect.name);
    if (place.kind !== "run" || place.rest !== "state.json") return;
    const state = parsed<State>(effect.body);
    const run = ledger.record(place.id, place.uid);
    for (const what of wrongWith(state, run)) {
      report(checker, `${run.id} in term ${state.term}, write ${state.sequence}: ${what}`);
    }
  };

function* wrongWith(state: State, run: RunRecord): Generator<string> {
  const { layout } = state;
  if (layout === undefined) return;
  const counted = { packsDone: 0, chunksDone: 0, packsFailed: 0, chunksFailed: 0 };
  for (const { pack, is } of outcomes(state)) {
    const chunks = sizeOf(chunksOfPack(layout, pack));
    if (is === "done") {
      const has = chunksIn(state, run, pack, chunks);
      counted.packsDone += 1;
      counted.chunksDone += has;
      counted.chunksFailed += chunks - has;
      // A write that was on its way for long may arrive while another leader deletes the run.
      const mayGo = state.phase === "complete" || run.lostByHand === true || run.deleteAskedMs !== undefined;
      if (!mayGo && !run.parts.has(pack)) yield `pack ${pack} is done without a partial`;
    } else if (is === "failed") {
      counted.packsFailed += 1;
      counted.chunksFailed += chunks;
    }
  }
  for (const [name, count] of Object.entries(counted)) {
    const said = state[name as keyof typeof counted];
    // Which chunks a deleted partial had is not told any more.
    if (name.startsWith("chunks") && run.lostByHand === true) continue;
    if (said !== count) yield `${name} is ${said}, its bitmaps say ${count}`;
  }
}

/**
 * How many of its chunks the partial of a pack has. A shard that is to be recounted is counted as it was when its generation
 * began, though one of its packs may be mended already: packs are sent before the state says so.
 */
function chunksIn({ layout, open, generation }: State, run: RunRecord, pack: number, chunks: number): number {
  const recount = layout !== undefined && open[shardOf(layout, pack)]?.recount === true;
  const mended = run.mended.get(pack);
  const before = recount && mended?.gen === generation ? mended : undefined;
  const members = (before ?? run.gapped.get(pack))?.members;
  return members === undefined ? chunks : countBits(decodeBitmap(members, chunks));
}

/** What a state says of each pack that it has a word on. */
export function* outcomes(state: State): Generator<{ pack: number; is: "done" | "failed" | "open" }> {
  const { layout } = state;
  if (layout === undefined) return;
  for (const [shard, { members }] of Object.entries(state.sealed)) {
    const packs = packsOfShard(layout, Number(shard));
    const bits = members === undefined ? undefined : decodeBitmap(members, sizeOf(packs));
    for (let pack = packs.from; pack < packs.to; pack += 1) {
      const at = pack - packs.from;
      const is = bits === undefined || hasBit(bits, at) ? "done" : "failed";
      yield { pack, is };
    }
  }
  for (const [shard, open] of Object.entries(state.open)) {
    const packs = packsOfShard(layout, Number(shard));
    const done = decodeBitmap(open.done, sizeOf(packs));
    const failed = decodeBitmap(open.failed ?? "", sizeOf(packs));
    for (let pack = packs.from; pack < packs.to; pack += 1) {
      const place = pack - packs.from;
      const is = hasBit(done, place) ? "done" : hasBit(failed, place) ? "failed" : "open";
      yield { pack, is };
    }
  }
}
