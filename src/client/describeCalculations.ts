import type { ParamRow } from "../calculations/params.ts";
import type { Calculations } from "../calculations/registry.ts";

/** A calculation as people and programs are told of it. */
export interface DescribedCalculation {
  readonly name: string;
  readonly summary: string;
  readonly params: readonly ParamRow[];
}

export const describeCalculations = (calculations: Calculations): readonly DescribedCalculation[] =>
  calculations
    .list()
    .map((one) => ({ name: one.name, summary: one.summary, params: calculations.describeParams(one) }));
