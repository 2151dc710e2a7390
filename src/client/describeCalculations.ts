import type { AnyCalculation } from "../calculations/contract.ts";
import { type ParamRow, type ParamsSchema, paramsSchema } from "../calculations/params.ts";
import type { Calculations } from "../calculations/registry.ts";

/** The description of a calculation for people and programs. */
export interface DescribedCalculation {
  readonly name: string;
  readonly summary: string;
  readonly params: readonly ParamRow[];
  /** JSON Schema of the parameters as they are given: defaults need not be. */
  readonly schema: ParamsSchema;
  /** Identity of its code in this process, see `identity.ts`. */
  readonly code: string;
  /** Present if its file has changed since this process loaded it. */
  readonly changed?: true | undefined;
}

export const describeCalculation = (
  calculations: Calculations,
  one: AnyCalculation,
): DescribedCalculation => ({
  ...{ name: one.name, summary: one.summary, params: calculations.describeParams(one) },
  ...{ schema: paramsSchema(one), code: calculations.versionOf(one.name) },
  ...(calculations.changedSince?.(one.name) === true ? { changed: true } : {}),
});

export const describeCalculations = (calculations: Calculations): readonly DescribedCalculation[] =>
  calculations.list().map((one) => describeCalculation(calculations, one));
