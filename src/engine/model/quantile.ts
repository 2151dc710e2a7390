export const mean = (values: readonly number[]): number =>
  values.length === 0 ? 0 : values.reduce((sum, value) => sum + value, 0) / values.length;

/** The smallest value that this share of the values does not exceed. */
export const quantile = (values: readonly number[], share: number): number | undefined =>
  [...values].sort((a, b) => a - b)[Math.max(Math.ceil(values.length * share) - 1, 0)];

export const p95 = (values: readonly number[]): number => quantile(values, 0.95) ?? 0;
