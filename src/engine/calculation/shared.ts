import type { AnyCalculation } from "./contract.ts";
import { guarded } from "./encodePart.ts";
import type { Files } from "./files.ts";

/** Values of `setup` that a thread keeps: of two runs that take turns on it, so that neither sets up for every pack. */
const keptMax = 2;

/**
 * The calculation whose `compute`, `merge` and `finish` get what its `setup` gives for these parameters. Calls `setup`, if there
 * is one. Throws `CalculationError`.
 */
export async function setUp(
  calculation: AnyCalculation,
  params: unknown,
  files: Files,
): Promise<AnyCalculation> {
  if (calculation.setup === undefined) return calculation;
  const shared: undefined = await guarded("setup", () => calculation.setup?.({ params, files }));
  const { finish } = calculation;
  const own: Pick<AnyCalculation, "compute" | "merge" | "finish"> = {
    compute: (chunk) => calculation.compute({ ...chunk, shared }),
    merge: (a, b) => calculation.merge(a, b, params, shared),
    ...(finish && { finish: (part, context) => finish.call(calculation, part, { ...context, shared }) }),
  };
  return Object.create(calculation, Object.getOwnPropertyDescriptors(own));
}

type SetUpOf = (run: string, ...of: Parameters<typeof setUp>) => Promise<AnyCalculation>;

/** `setUp` once for each run, for the latest of them. One that failed is tried again by the next task. */
export function keepingShared(): SetUpOf {
  const kept = new Map<string, AnyCalculation>();
  return async (run, calculation, params, files) => {
    if (calculation.setup === undefined) return calculation;
    const ready = kept.get(run) ?? (await setUp(calculation, params, files));
    kept.delete(run);
    kept.set(run, ready);
    if (kept.size > keptMax) kept.delete(kept.keys().next().value as string);
    return ready;
  };
}
