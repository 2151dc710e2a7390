import { options } from "../../../src/calculations/options.ts";
import type { CalculationBench } from "./measure.ts";
import { jsonOf, serialRun } from "./serialRun.ts";

/**
 * Price, four greeks and all their errors of a European option, one normal a path, and of an Asian one with
 * twelve.
 */
export const optionsBench: CalculationBench = {
  name: "options",
  unit: "normals, exact sums included",
  async measure({ quick }) {
    const paths = quick ? 2.4e6 : 3e7;
    await price({ paths: 1e6 });
    const seconds = await price({ paths });
    const asian = { kind: "asian-call", steps: 12, paths: paths / 12 };
    const asianSeconds = await price(asian);
    return {
      perS: paths / seconds,
      seconds,
      "asian-perS": paths / asianSeconds,
      "asian-seconds": asianSeconds,
    };
  },
  goals: [
    {
      goal: "options at 12 million normals a second and thread or more",
      met: ({ perS = Number.NaN }) => perS >= 12e6,
    },
  ],
  whole: (quick) => ({ params: { paths: quick ? 2e7 : 2e9 } }),
};

/** Seconds; throws where the price is far from the closed form. */
async function price(raw: Readonly<Record<string, unknown>>): Promise<number> {
  const { seconds, result } = await serialRun(options, raw);
  const { zScore } = jsonOf(result);
  if (!(Math.abs(zScore as number) < 5)) throw new Error(`options ${JSON.stringify(raw)}: z is ${zScore}`);
  return seconds;
}
