import { defects, playChaos } from "../support/chaos/chaos.ts";
import type { Bench } from "./bench.ts";

const minutesUsual = 5;
/** From here on the end of every message is awaited: the host hides one that was in dead hands for ten minutes. */
const drainedFromMinutes = 5;

/** Real instances under faults of every kind; `test/support/chaos` has the plan and the checks. */
export const chaosBench: Bench = {
  name: "chaos",
  question: "do runs end, with the same bytes, while processes and storage fail, and what is left then?",
  byName: true,
  async run({ quick, minutes = quick ? 1 : minutesUsual, seed, older, defect, say }) {
    return await playChaos({
      ...{ say, older, seconds: 60 * minutes },
      seed: seed ?? Math.floor(Math.random() * 2 ** 31),
      defect: defects.find((one) => one === defect),
      drain: minutes >= drainedFromMinutes,
    });
  },
};
