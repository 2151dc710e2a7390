import { countBits, decodeBitmap, emptyBitmap, hasBit } from "../model/bitmap.ts";
import { packsOf, packsOfShard, shardOf, sizeOf } from "../model/packs.ts";
import type { State } from "../model/state.ts";

/**
 * Counts what the bitmaps say, so that no count can drift from them: packs and chunks done and failed, and packs
 * sent without an outcome. Its cost grows with the open shards; a sealed one costs a few operations.
 */
export function tally(state: State): void {
  const { layout } = state;
  if (layout === undefined) return;
  let done = 0;
  let failed = 0;
  let inFlight = 0;
  const packs = packsOf(layout);
  /** Chunks that the last pack has less than the others. */
  const short = packs * layout.packSize - layout.chunks;
  const lastShard = packs === 0 ? -1 : shardOf(layout, packs - 1);
  let last: "done" | "failed" | "open" = "open";

  for (const [name, { members }] of Object.entries(state.sealed)) {
    const range = packsOfShard(layout, Number(name));
    const size = sizeOf(range);
    const bits = members === undefined ? undefined : decodeBitmap(members, size);
    const there = bits === undefined ? size : countBits(bits);
    done += there;
    failed += size - there;
    if (Number(name) === lastShard) last = bits === undefined || hasBit(bits, size - 1) ? "done" : "failed";
  }
  for (const [name, open] of Object.entries(state.open)) {
    const range = packsOfShard(layout, Number(name));
    const size = sizeOf(range);
    const doneBits = decodeBitmap(open.done, size);
    const failedBits = open.failed === undefined ? emptyBitmap(size) : decodeBitmap(open.failed, size);
    done += countBits(doneBits);
    failed += countBits(failedBits);
    const sent = Math.min(Math.max(state.cursor - range.from, 0), size);
    for (let place = 0; place < sent; place += 1) {
      if (!hasBit(doneBits, place) && !hasBit(failedBits, place)) inFlight += 1;
    }
    if (Number(name) === lastShard) {
      if (hasBit(doneBits, size - 1)) last = "done";
      else if (hasBit(failedBits, size - 1)) last = "failed";
    }
  }
  state.packsDone = done;
  state.packsFailed = failed;
  state.inFlight = inFlight;
  state.chunksDone = done * layout.packSize - (last === "done" ? short : 0);
  state.chunksFailed = failed * layout.packSize - (last === "failed" ? short : 0);
}
