import { queens } from "../../../src/calculations/queens.ts";
import type { CalculationBench } from "./measure.ts";
import { jsonOf, serialRun } from "./serialRun.ts";

/** https://oeis.org/A000170 */
const published: Readonly<Record<number, number>> = { 13: 73_712, 15: 2_279_184 };

export const queensBench: CalculationBench = {
  name: "queens",
  unit: "solutions",
  async measure({ quick }) {
    const n = quick ? 13 : 15;
    await serialRun(queens, { n: 10 });
    const { seconds, result } = await serialRun(queens, { n });
    const { solutions } = jsonOf(result);
    if (solutions !== published[n]) throw new Error(`queens of ${n}: ${solutions} is wrong`);
    return { perS: (solutions as number) / seconds, seconds };
  },
  whole: (quick) => ({ params: { n: quick ? 13 : 17 } }),
};
