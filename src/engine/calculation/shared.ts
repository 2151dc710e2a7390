import type { AnyCalculation } from "./contract.ts";
import { guarded } from "./encodePart.ts";
import type { Files } from "./files.ts";

/**
 * The calculation whose `compute`, `merge`, `stop` and `finish` get what its `setup` gives for these parameters. Calls `setup`, if there
 * is one. Throws `CalculationError`.
 */
export async function setUp(
  calculation: AnyCalculation,
  params: unknown,
  files: Files,
): Promise<AnyCalculation> {
  if (calculation.setup === undefined) return calculation;
  const shared: undefined = await guarded("setup", () => calculation.setup?.({ params, files }));
  const { stop, finish } = calculation;
  const own: Pick<AnyCalculation, "compute" | "merge" | "stop" | "finish"> = {
    compute: (chunk) => calculation.compute({ ...chunk, shared }),
    merge: (a, b) => calculation.merge(a, b, params, shared),
    ...(stop && { stop: (part, context) => stop.call(calculation, part, { ...context, shared }) }),
    ...(finish && { finish: (part, context) => finish.call(calculation, part, { ...context, shared }) }),
  };
  return Object.create(calculation, Object.getOwnPropertyDescriptors(own));
}
