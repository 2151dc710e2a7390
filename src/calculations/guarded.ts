import { CalculationError, messageOf } from "../model/errors.ts";
import { placeOf } from "./placeOf.ts";

/** Runs user code; what it throws becomes a `CalculationError` that begins with `what` and tells where it was. */
export async function guarded<T>(what: string, run: () => T | Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    if (error instanceof CalculationError) throw error;
    const message = `${what}: ${messageOf(error)}${placeOf(error)}`;
    throw new CalculationError("calculation-threw", message, { cause: error });
  }
}
