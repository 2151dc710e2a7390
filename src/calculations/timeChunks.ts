import { CalculationError } from "../model/errors.ts";
import { limits } from "../model/limits.ts";
import type { FinishContext } from "./contract.ts";

/**
 * How long one chunk takes, learned from a few of them: whoever plans a run, and whoever only asks what it would
 * cost, measure in the same way. Nothing here runs user code itself; `compute` does, and says how long it took.
 */

/** What `plan` gave: how many chunks there are, and whether it listed their inputs. */
export interface PlannedChunks {
  readonly chunks: number;
  readonly list: boolean;
}

/** Inputs of a list that were kept to be timed, by chunk. */
export type Samples = Map<number, unknown>;

/** One chunk to be computed. */
export interface SampleChunk {
  readonly from: number;
  readonly to: number;
  /** Chunks of the whole run. */
  readonly count: number;
  readonly inputs?: readonly unknown[];
}

/** A chunk that takes longer is ended and counts as so long: no pack may take more. */
export const sampleLimitMs = limits.packMsMax;

/** Mean time of the chunks that could be timed, in ms; a chunk that fails says nothing here and fails on its own later. */
export async function timeChunks(
  { chunks, list }: PlannedChunks,
  samples: ReadonlyMap<number, unknown>,
  compute: (chunk: SampleChunk) => Promise<{ readonly ms: number }>,
): Promise<number> {
  const indexes = list ? [...samples.keys()] : spread(chunks, limits.planSamples);
  const times: number[] = [];
  let spentMs = 0;
  for (const index of indexes) {
    if (spentMs >= limits.planSampleMsMax) break;
    const inputs = list ? { inputs: [samples.get(index)] } : {};
    try {
      const { ms } = await compute({ from: index, to: index + 1, count: chunks, ...inputs });
      times.push(ms);
      spentMs += ms;
    } catch (error) {
      if (!(error instanceof CalculationError)) throw error;
      if (error.code === "time-limit") return sampleLimitMs;
    }
  }
  // Chunks of which nothing is known are not all put into one pack.
  if (times.length === 0) return limits.packMsMin;
  // The first sample also pays for loading and compiling the code, so it only counts where it is alone.
  const warm = times.length > 1 ? times.slice(1) : times;
  return warm.reduce((sum, ms) => sum + ms, 0) / warm.length;
}

/** Keeps inputs to time: a spread of the first batch of a list, and the first of every later one up to the limit. */
export function keepSamples(samples: Samples, from: number, inputs: readonly unknown[]): void {
  const places = from === 0 ? spread(inputs.length, limits.planSamples - 1) : [0];
  for (const place of places) if (samples.size < limits.planSamples) samples.set(from + place, inputs[place]);
}

/** So many indexes spread evenly over `[0, count)`. */
export function spread(count: number, samples: number): number[] {
  const taken = Math.min(count, samples);
  return Array.from({ length: taken }, (_, place) => Math.floor(((place + 0.5) * count) / taken));
}

/** For a result that looks whole where it is not: how many chunks are in it, of how many; nothing where all are. */
export const shareOf = ({
  folded,
  count,
}: Pick<FinishContext<unknown>, "folded" | "count">): { chunks?: number; ofChunks?: number } =>
  folded === count ? {} : { chunks: folded, ofChunks: count };
