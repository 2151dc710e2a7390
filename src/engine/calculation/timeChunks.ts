import { CalculationError } from "../model/errors.ts";
import { limits } from "../model/limits.ts";
import { mean } from "../model/quantile.ts";
import type { FinishContext } from "./contract.ts";

/** The answer of `plan`: how many chunks there are, and whether it listed their inputs. */
export interface PlannedChunks {
  readonly chunks: number;
  readonly list: boolean;
  /** Partials depend on their inputs alone, not on where these are listed. */
  readonly byInput?: boolean;
  /** The calculation is asked about prefixes whether it stops there. */
  readonly stops?: true;
  /** Chunks that a thread computes at the same time; absent: one. */
  readonly atOnce?: number;
}

/** Inputs of a list that are kept to be timed, by chunk. */
export type Samples<Input = unknown> = Map<number, Input>;

/** Chunks `[from, to)` to compute. */
export interface ChunkRange {
  readonly from: number;
  readonly to: number;
  /** Chunks of the whole run. */
  readonly count: number;
  /** The partial covers the chunks up to here, which is more than `to` where the last chunk is among them (`coverOf`). */
  readonly coverTo?: number;
  /** `inputs[i]` belongs to chunk `from + i`. */
  readonly inputs?: readonly unknown[];
}

/** Time that a thread spent on a sample, and what of it the thread waited for a core, where the system tells. */
export interface SampleTime {
  readonly ms: number;
  readonly waitedMs?: number | undefined;
  /** What of it the thread computed, and did not wait for others. */
  readonly busyMs?: number | undefined;
}

/** A chunk that takes longer is stopped and counts as this time, which is the limit of a pack. */
export const sampleLimitMs = limits.packMsMax;

/**
 * Mean time of a chunk in ms by a few of them, for the plan of a run and for its estimate: of chunks that are computed at the same
 * time its share, and no less than the thread is busy with it. `compute` runs chunks and returns their time. A chunk that fails is skipped here; it fails again when its pack is computed.
 *
 * A fresh thread is slow until its code is compiled and its tables are made. So each sample is taken again while that is
 * cheap, up to `rounds` times, and its fastest time counts; where samples are too short to tell, more chunks make one.
 */
export async function timeChunks(
  { chunks, list, atOnce = 1 }: PlannedChunks,
  samples: ReadonlyMap<number, unknown>,
  compute: (chunk: ChunkRange) => Promise<SampleTime>,
  rounds: number = limits.planRounds,
): Promise<number> {
  const shareMs = ({ busyMs = 0 }: SampleTime, tookMs: number, count: number): number =>
    Math.max(tookMs / (Math.ceil(count / atOnce) * atOnce), Math.min(busyMs, tookMs) / count);
  const indexes = list ? [...samples.keys()] : spread(chunks, limits.planSamples);
  /** By first chunk of the sample: its fastest time for each chunk, and its chunks. */
  const times = new Map<number, { readonly ms: number; readonly size: number }>();
  const failed = new Set<number>();
  let firstMs: number | undefined;
  let spentMs = 0;
  let onceMs: number | undefined;
  let size = 1;
  /** The first sample includes loading the code, so it counts only if it is the only one. */
  const meanMs = () => (times.size === 0 ? firstMs : mean([...times.values()].map(({ ms }) => ms)));
  for (let round = 0; round < rounds; round++) {
    const spentBeforeMs = spentMs;
    for (const index of indexes) {
      if (failed.has(index)) continue;
      const known = meanMs();
      if (onceMs !== undefined && known === undefined) break;
      if (known !== undefined && spentMs + known * size > worthMs(known * chunks, onceMs)) break;
      const to = Math.min(index + size, chunks);
      const inputs = list ? { inputs: [samples.get(index)] } : {};
      try {
        const sample = await compute({ from: index, to, count: chunks, ...inputs });
        const tookMs = Math.max(sample.ms - (sample.waitedMs ?? 0), 0);
        spentMs += tookMs;
        const before = times.get(index);
        const ms = Math.min(
          shareMs(sample, tookMs, to - index),
          before?.size === size ? before.ms : Infinity,
        );
        if (firstMs === undefined) firstMs = ms;
        else times.set(index, { ms, size });
      } catch (error) {
        if (!(error instanceof CalculationError)) throw error;
        if (error.code === "time-limit")
          return onceMs === undefined ? sampleLimitMs : (meanMs() ?? sampleLimitMs);
        failed.add(index);
      }
    }
    onceMs ??= spentMs;
    if (!list && spentMs - spentBeforeMs < indexes.length * limits.planSampleMsMin) size *= 4;
  }
  // Chunks of unknown time must not all go into one pack.
  return meanMs() ?? limits.packMsMin;
}

/** How often samples are taken: once where the size of a pack is given, as their time then decides hardly anything. */
export const roundsFor = (packSize: number | undefined): number =>
  packSize === undefined ? limits.planRounds : 1;

/** Time that all samples may take together, in a run that takes `totalMs` on one thread; `onceMs`: each taken once. */
function worthMs(totalMs: number, onceMs: number | undefined): number {
  const { packMsMin, planSampleMsMax, planSampleShare } = limits;
  const cheapMs = Math.max(packMsMin, totalMs * planSampleShare);
  if (onceMs === undefined) return Math.min(planSampleMsMax, cheapMs);
  // A run that is one pack anyway would only become shorter.
  return totalMs <= packMsMin ? 0 : Math.min(onceMs + packMsMin, cheapMs);
}

/** Keeps inputs to time: some spread over the first batch of a list, and the first of later batches up to the limit. */
export function keepSamples<Input>(samples: Samples<Input>, from: number, inputs: readonly Input[]): void {
  const indexes = from === 0 ? spread(inputs.length, limits.planSamples - 1) : [0];
  for (const i of indexes) if (samples.size < limits.planSamples) samples.set(from + i, inputs[i] as Input);
}

/** At most `samples` indexes spread evenly over `[0, count)`. */
export function spread(count: number, samples: number): number[] {
  const taken = Math.min(count, samples);
  return Array.from({ length: taken }, (_, i) => Math.floor(((i + 0.5) * count) / taken));
}

/** Fields for the result of a part of the chunks, which would look complete without them: the chunks in it, and all. */
export const shareOf = ({ folded, count }: FinishContext<unknown>): { chunks?: number; ofChunks?: number } =>
  folded === count ? {} : { chunks: folded, ofChunks: count };
