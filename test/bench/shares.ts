import { jainOf, smallRun, threeRuns } from "../sim/engine/shares.ts";
import type { Bench } from "./bench.ts";

const packs = [100, 4_000, 60_000];

export const sharesBench: Bench = {
  name: "shares",
  question: "how evenly do runs beside one another have the workers, in the simulation?",
  async run({ quick, say }) {
    const rows: Record<string, string | number>[] = [];
    const figures: Record<string, number> = {};
    for (const packMs of quick ? packs.slice(0, 1) : packs) {
      const windows = await threeRuns(packMs);
      const jain = Math.min(...windows.map(jainOf));
      const same = await smallRun(packMs, packMs);
      const short = await smallRun(packMs, 100);
      const row = { packMs, jain: rounded(jain), timesAlone: rounded(same), timesAloneShort: rounded(short) };
      rows.push(row);
      say(`  packs of ${packMs} ms: ${windows.map((counts) => counts.join("/")).join("  ")}`);
      for (const [name, value] of Object.entries(row))
        if (name !== "packMs") figures[`${name} ${packMs}`] = value;
    }
    const each = (name: string, met: (value: number) => boolean) =>
      rows.every((row) => met(Number(row[name])));
    const goals = [
      {
        goal: "three runs 4 s apart: Jain's index at least 0.9 from 30 s on",
        met: each("jain", (value) => value >= 0.9),
      },
      {
        goal: "ten packs as long as those of two large runs: at most 3 times the time alone",
        met: each("timesAlone", (value) => value <= 3),
      },
      {
        goal: "ten packs of 0.1 s beside two large runs: at most 3 times the time alone",
        met: each("timesAloneShort", (value) => value <= 3),
      },
    ];
    return { rows, figures, goals };
  },
};

const rounded = (value: number): number => Math.round(value * 100) / 100;
