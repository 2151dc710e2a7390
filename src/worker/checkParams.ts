import { CalculationError, InputError } from "../model/errors.ts";
import type { Spec } from "../model/run.ts";
import type { WorkerPorts } from "./ports.ts";

/**
 * Parameters were checked where the run was submitted, by the schema there. A parameter that this process's schema does
 * not know, or wants and does not get, would reach user code as `undefined`, and the result would be wrong. No other
 * attempt by this code fares better, so the failure is final.
 */
export function checkParams(
  { checkParams: check }: Pick<WorkerPorts, "checkParams">,
  { calculation, params, given }: Spec,
): void {
  try {
    check?.(calculation, given ?? params);
  } catch (error) {
    if (!(error instanceof InputError)) throw error;
    throw new CalculationError(
      "bad-parameter",
      `the parameters do not fit ${calculation} as the instances have it: ${error.message}`,
    );
  }
}
