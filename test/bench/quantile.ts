import { quantile as exactQuantile } from "../../src/engine/model/quantile.ts";

/** The quantile to a thousandth. */
export const quantile = (values: readonly number[], share: number): number =>
  Math.round((exactQuantile(values, share) ?? Number.NaN) * 1000) / 1000;
