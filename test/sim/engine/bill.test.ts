import { expect, test } from "vitest";
import { billedRuns, playBilled } from "../../support/billedRun.ts";

test.each(billedRuns)(
  "the bill of a run is what was called and executed, within 10 %: $name",
  async (run) => {
    const { phase, callsRatio, gbSRatio } = await playBilled(run);
    expect(phase).toBe(run.ends ?? "complete");
    for (const ratio of [callsRatio, gbSRatio]) expect(Math.abs(ratio - 1)).toBeLessThan(0.1);
  },
);
