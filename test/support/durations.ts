import type { Random } from "../../src/engine/storage/ports.ts";

/** How unlike the packs of a run are. */
export type Shape =
  | { readonly kind: "even" }
  /** `sigma` of the logarithm; the median is the pace. */
  | { readonly kind: "lognormal"; readonly sigma: number }
  /** One in so many takes so many times the pace. */
  | { readonly kind: "bimodal"; readonly oneIn: number; readonly times: number };

/** What so many packs take, in ms, around this pace. No pack takes longer than `maxMs`. */
export function durationsOf(
  shape: Shape,
  { packs, paceMs, maxMs = Number.POSITIVE_INFINITY }: { packs: number; paceMs: number; maxMs?: number },
  random: Random,
): readonly number[] {
  const one = (): number => {
    if (shape.kind === "even") return paceMs * (0.8 + 0.4 * random.number());
    if (shape.kind === "bimodal") return paceMs * (random.number() * shape.oneIn < 1 ? shape.times : 1);
    return paceMs * Math.exp(shape.sigma * normal(random));
  };
  return Array.from({ length: packs }, () => Math.min(maxMs, one()));
}

export const sumOf = (numbers: readonly number[]): number => numbers.reduce((sum, one) => sum + one, 0);

/** When the last ends if threads take them in their order and each is computed once. */
export function makespanMs(durationsMs: readonly number[], threads: number): number {
  const freeAtMs = new Array<number>(threads).fill(0);
  for (const ms of durationsMs) {
    const first = freeAtMs.indexOf(Math.min(...freeAtMs));
    freeAtMs[first] = (freeAtMs[first] ?? 0) + ms;
  }
  return Math.max(...freeAtMs);
}

/** A draw of the standard normal distribution (Box and Muller). */
export const normal = (random: Random): number =>
  Math.sqrt(-2 * Math.log(1 - random.number())) * Math.cos(2 * Math.PI * random.number());
