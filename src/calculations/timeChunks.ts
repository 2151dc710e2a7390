import { CalculationError } from "../model/errors.ts";
import { limits } from "../model/limits.ts";
import type { FinishContext } from "./contract.ts";

/** The answer of `plan`: how many chunks there are, and whether it listed their inputs. */
export interface PlannedChunks {
  readonly chunks: number;
  readonly list: boolean;
}

/** Inputs of a list that are kept to be timed, by chunk. */
export type Samples = Map<number, unknown>;

/** One chunk to compute. */
export interface SampleChunk {
  readonly from: number;
  readonly to: number;
  /** Chunks of the whole run. */
  readonly count: number;
  readonly inputs?: readonly unknown[];
}

/** A chunk that takes longer is stopped and counts as this time, which is the limit of a pack. */
export const sampleLimitMs = limits.packMsMax;

/**
 * Mean time of a few chunks in ms, for the plan of a run and for its estimate. `compute` runs the chunk and returns its
 * time. A chunk that fails is skipped here; it fails again when its pack is computed.
 */
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
  // Chunks of unknown time must not all go into one pack.
  if (times.length === 0) return limits.packMsMin;
  // The first sample includes loading and compiling the code, so it counts only if it is the only one.
  const warm = times.length > 1 ? times.slice(1) : times;
  return warm.reduce((sum, ms) => sum + ms, 0) / warm.length;
}

/** Keeps inputs to time: some spread over the first batch of a list, and the first of later batches up to the limit. */
export function keepSamples(samples: Samples, from: number, inputs: readonly unknown[]): void {
  const indexes = from === 0 ? spread(inputs.length, limits.planSamples - 1) : [0];
  for (const i of indexes) if (samples.size < limits.planSamples) samples.set(from + i, inputs[i]);
}

/** At most `samples` indexes spread evenly over `[0, count)`. */
export function spread(count: number, samples: number): number[] {
  const taken = Math.min(count, samples);
  return Array.from({ length: taken }, (_, i) => Math.floor(((i + 0.5) * count) / taken));
}

/** Fields for the result of a part of the chunks, which would look complete without them: the chunks in it, and all. */
export const shareOf = ({ folded, count }: FinishContext<unknown>): { chunks?: number; ofChunks?: number } =>
  folded === count ? {} : { chunks: folded, ofChunks: count };
