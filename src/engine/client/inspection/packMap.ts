import * as z from "zod";
import { type Outcome, outcomesOf } from "../../model/outcomes.ts";
import { packsOf, packsOfShard, shardsOf } from "../../model/packs.ts";
import type { State } from "../../model/state.ts";
import { type Client, clientLimits } from "../client.ts";
import { readShown } from "../retried.ts";
import { type RunKey, requireSpec } from "../runDocuments.ts";
import { count, generation, list, runKey } from "../viewSchemas.ts";

const cell = list(count);
export const packMapSchema = z
  .object({
    ...{ ...runKey, generation, packs: count, shardSize: count, packsPerCell: z.int().positive() },
    cells: z.object({ done: cell, failed: cell, givenUp: cell, inFlight: cell, resent: cell }),
  })
  .describe(
    "The packs of a run, counted in at most 2,000 cells of neighboring packs. Cell `i` counts the packs from `i * packsPerCell` on; the rest of a cell was not sent.",
  )
  .meta({ id: "PackMap" });
export type PackMap = z.infer<typeof packMapSchema>;

/** `resent`: those in flight that were resent. */
type Counted = Outcome | "resent";

/** Two reads, of an ended run a HEAD as well. Throws `InputError` for an unknown run. */
export async function packMap(client: Client, id: string): Promise<PackMap> {
  const spec = (await requireSpec(client, id)).value;
  return packMapOf(spec, (await readShown(client, spec))?.value);
}

/**
 * Pure: the map of a run from its state; without one, or before the plan, it has no cells.
 */
export function packMapOf({ run, uid }: RunKey, state: State | undefined): PackMap {
  const layout = state?.layout;
  const key = { run, uid, generation: state?.generation ?? 1 };
  if (state === undefined || layout === undefined) {
    return { ...key, packs: 0, shardSize: 0, packsPerCell: 1, cells: emptyCells(0) };
  }
  const packs = packsOf(layout);
  const packsPerCell = packsPerCellOf(packs, layout.shardSize);
  const cells = emptyCells(Math.ceil(packs / packsPerCell));
  const add = (outcome: Counted, pack: number): void => {
    const cell = Math.floor(pack / packsPerCell);
    cells[outcome][cell] = (cells[outcome][cell] ?? 0) + 1;
  };
  for (let shard = 0; shard < shardsOf(layout); shard += 1) {
    const { from, to } = packsOfShard(layout, shard);
    const outcome = outcomesOf(state, layout, shard);
    for (let pack = from; outcome !== undefined && pack < to; pack += 1) {
      const found = outcome(pack);
      if (found !== undefined) add(found, pack);
      if (found === "inFlight" && (state.resent[pack]?.send ?? 0) > state.cursorSend) add("resent", pack);
    }
  }
  return { ...key, packs, shardSize: layout.shardSize, packsPerCell, cells };
}

const emptyCells = (cells: number): Readonly<Record<Counted, number[]>> => {
  const zeros = (): number[] => new Array<number>(cells).fill(0);
  return {
    done: zeros(),
    failed: zeros(),
    givenUp: zeros(),
    inFlight: zeros(),
    resent: zeros(),
  };
};

/** A cell this many times too large would hide more than its borders at shards are worth. */
const coarseMax = 4;

/**
 * The least number of packs with which the cells suffice: a divisor of the shard size or a multiple of it, so that no cell
 * crosses a shard; any number where every divisor would be far larger.
 */
export function packsPerCellOf(packs: number, shardSize: number): number {
  const needed = Math.max(1, Math.ceil(packs / clientLimits.mapCellsMax));
  if (needed >= shardSize) return Math.ceil(needed / shardSize) * shardSize;
  let divisor = needed;
  while (shardSize % divisor !== 0) divisor += 1;
  return divisor <= coarseMax * needed ? divisor : needed;
}
