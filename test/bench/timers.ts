import { leaderlessMs } from "../sim/scale/leaderDeath.ts";
import type { Bench } from "./bench.ts";
import { quantile } from "./quantile.ts";

/** Of one timer that ticks each minute on a cold instance, a month: the rows of docs/DEPLOY.md, "What it costs". */
const timerDollars = 43_800 * (3 * 2 * 0.000026 + 0.0000004) + 730 * 0.0004 + 43_800 * 0.000016 * 2.3;
/** Of one instance of 2 GB that is always ready. */
const readyDollars = 730 * 3_600 * 2 * 0.000004;

/** On a model of the platform in virtual time; seconds are as good as the model. */
export const timersBench: Bench = {
  name: "timers",
  question:
    "how long is nobody leading after a leader's death on Flex Consumption, by timers and always-ready instances?",
  async run({ quick, say }) {
    const rows: Record<string, string | number>[] = [];
    const figures: Record<string, number> = {};
    const worlds = quick ? 20 : 300;
    say(`  ${worlds} worlds each`);
    for (const [timers, ready] of [
      [1, 0],
      [2, 0],
      [3, 0],
      [1, 1],
      [1, 2],
    ] as const) {
      const row: Record<string, string | number> = { timers, ready };
      for (const ledBy of ["wake", "tick"] as const) {
        const all: number[] = [];
        for (let seed = 1; seed <= worlds; seed += 1)
          all.push((await leaderlessMs({ timers, ready, ledBy, seed })) / 1_000);
        for (const [name, share] of [
          ["p50", 0.5],
          ["p95", 0.95],
        ] as const)
          row[`${ledBy} ${name}`] = Number(quantile(all, share).toFixed(0));
        figures[`p50 ${timers} timers, ${ready} ready, led by ${ledBy}`] = quantile(all, 0.5);
      }
      row["idle $ a month"] = (timers * timerDollars + ready * readyDollars).toFixed(2);
      rows.push(row);
    }
    return { rows, figures, goals: [] };
  },
};
