/** A value measured over so many packs, `place` packs from here: the past is below 0. */
export interface Measure {
  readonly place: number;
  readonly packs: number;
  readonly value: number;
}

export interface Trend {
  /** Where the line is here, at place 0. */
  readonly now: number;
  /** By how much the value changes from one pack to the next; 0 where that may as well be chance. */
  readonly perPack: number;
  /** Standard error of `now`. */
  readonly error: number;
}

/**
 * The straight line that fits the latest measures best: weighted least squares, where a measure counts by its packs
 * and half as much for each 0.7 × `reach` packs that it lies back. `variance` is that of one pack's value by chance.
 * A slope is shrunk by what chance alone would give it (positive-part James–Stein).
 */
export function trendOf(measures: readonly Measure[], reach: number, variance: number): Trend {
  const points = measures.map((one) => {
    const fading = Math.exp(one.place / reach);
    return { ...one, weight: one.packs * fading, noise: one.packs * fading ** 2 * variance };
  });
  const sum = (of: (point: (typeof points)[number]) => number) =>
    points.reduce((total, point) => total + of(point), 0);
  const weight = sum((point) => point.weight);
  const middle = sum(({ weight, place }) => weight * place) / weight;
  const mean = sum(({ weight, value }) => weight * value) / weight;
  const meanVariance = sum(({ noise }) => noise) / weight ** 2;
  const spread = sum(({ weight, place }) => weight * (place - middle) ** 2);
  if (spread === 0) return { now: mean, perPack: 0, error: Math.sqrt(meanVariance) };

  const fitted = sum(({ weight, place, value }) => weight * (place - middle) * (value - mean)) / spread;
  const slopeVariance = sum(({ noise, place }) => noise * (place - middle) ** 2) / spread ** 2;
  const kept = fitted === 0 ? 0 : Math.max(0, 1 - slopeVariance / fitted ** 2);
  return {
    now: mean - kept * fitted * middle,
    perPack: kept * fitted,
    error: Math.sqrt(meanVariance + kept * middle ** 2 * slopeVariance),
  };
}
