import { packsOf, shardsOf } from "../../model/packs.ts";
import { cutTo, nextPrefix, shardsOfPrefix } from "../../model/prefixes.ts";
import { parseWorkName } from "../../model/runBlobs.ts";
import type { State } from "../../model/state.ts";

/**
 * A run whose calculation may stop (rule *early stop*): which shards count by now, and what is left of the
 * run once a prefix is accepted. Everything that could end the run otherwise counts in the order of prefixes too, so that no
 * timing decides between a result and a failure.
 *
 * Not promised: that nothing beyond the last prefix is computed. It is not folded.
 */

/** The shards that count by now: those of the next prefix. A run that is to end with what is done asks no more. */
export function shardsThatCount(state: State): number {
  const next = state.keep === true ? undefined : nextPrefix(state);
  return next === undefined || state.layout === undefined
    ? Number.POSITIVE_INFINITY
    : shardsOfPrefix(state.layout, next.chunks);
}

/** From here the run has these chunks only: what was sent beyond is neither waited for nor folded. */
export function stopAfter(state: State, chunks: number): void {
  const { layout } = state;
  if (layout === undefined) return;
  state.stopped = { of: layout.chunks };
  state.layout = cutTo(layout, chunks);
  const [packs, shards] = [packsOf(state.layout), shardsOf(state.layout)];
  for (const records of [state.open, state.sealed, state.gaveUp?.failed ?? {}])
    for (const shard of Object.keys(records)) if (Number(shard) >= shards) delete records[shard];
  for (const name of Object.keys(state.tasks))
    if (parseWorkName(name)?.kind === "node") delete state.tasks[name];
  for (const pack of Object.keys(state.resent)) if (Number(pack) >= packs) delete state.resent[pack];
  state.cursor = Math.min(state.cursor, packs);
  state.possiblySentUpTo = Math.min(state.possiblySentUpTo, packs);
  for (const mark of [...state.batches, ...state.taken]) mark.upTo = Math.min(mark.upTo, packs);
  if (state.gaveUp !== undefined) state.gaveUp.cursor = Math.min(state.gaveUp.cursor, packs);
}
