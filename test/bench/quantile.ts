/** The smallest value that at least this share of the values does not exceed, to a thousandth. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  const value = sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? Number.NaN;
  return Math.round(value * 1000) / 1000;
}
