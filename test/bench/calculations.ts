import type { Bench } from "./bench.ts";
import type { CalculationBench } from "./calculations/measure.ts";
import { primesBench } from "./calculations/primes.ts";
import { runOnTwo, startTwo } from "./calculations/runOnTwo.ts";
import { sqlBench } from "./calculations/sql.ts";

const modules: readonly CalculationBench[] = [primesBench, sqlBench];

/** In a run this long, its start and end no longer count. */
const longRunS = 30;

/**
 * Each built-in calculation in one thread of this process, then a whole run on two instances of one thread
 * each.
 */
export const calculationsBench: Bench = {
  name: "calculations",
  question: "what does one thread do in a second, what do two instances make of a whole run, in what memory?",
  async run({ quick, say }) {
    const rows: Record<string, string | number>[] = [];
    const figures: Record<string, number> = {};
    const goals: { goal: string; met: boolean }[] = [];
    // New instances for each, so that their memory is of this run alone; with `quick` that would take longest.
    const shared = quick ? await startTwo() : undefined;
    try {
      for (const one of modules) {
        const tell = (line: string): void => say(`  ${one.name}: ${line}`);
        const found = await one.measure({ quick, say: tell });
        tell(`${amount(found["perS"])} a second in one thread (${one.unit})`);
        const app = shared ?? (await startTwo());
        const long = one.whole(quick);
        // The one thread has computed before, too. Over files the first run is measured as well.
        const warmUp = long.fill === undefined ? one.whole(true).params : long.params;
        const whole = await runOnTwo(app, one.name, long, warmUp).finally(() =>
          app === shared ? undefined : app.stop(),
        );
        const alone = `${rounded(whole.oneBeforeS)} and ${rounded(whole.oneAfterS)} s in one thread`;
        tell(`${alone}, ${rounded(whole.twoS)} s as a run on two instances`);
        rows.push({
          calculation: one.name,
          "per second": amount(found["perS"]),
          of: one.unit,
          "one thread, s": rounded(whole.oneS),
          "two instances, s": rounded(whole.twoS),
          "times as fast": rounded(whole.speedUp),
          "CPU s: one thread": rounded(whole.oneCpuS),
          "both instances": rounded(whole.twoCpuS),
          "× one thread": rounded(whole.cpuRatio),
          "first run": rounded(whole.coldCpuRatio),
          Azurite: rounded(whole.azuriteCpuS),
          "MB of one instance": Math.round(whole.peakBytes / 1e6),
          "when idle": Math.round(whole.idleBytes / 1e6),
          "time beside others": besides(found),
        });
        for (const [name, value] of Object.entries({ ...found, ...whole })) {
          figures[`${one.name}-${name}`] = value;
        }
        // Sizes that only try the bench tell nothing about most of its goals.
        const told = (one.goals ?? []).filter(
          (each) => (!quick || each.quick === true) && (each.needs === undefined || each.needs in found),
        );
        for (const { goal, met } of told) goals.push({ goal, met: met({ ...found, ...whole }) });
        if (quick || whole.oneS < longRunS) continue;
        const goal = `${one.name} on two instances of one thread at least 1.6 × as fast as in one thread`;
        goals.push({ goal, met: whole.speedUp >= 1.6 });
      }
    } finally {
      await shared?.stop();
    }
    return { rows, figures, goals };
  },
};

/** `primesieve 1.02`, for each other program that was there. */
const besides = (figures: Readonly<Record<string, number>>): string =>
  Object.entries(figures)
    .filter(([name]) => name.startsWith("ratio-to-"))
    .map(([name, ratio]) => `${name.slice("ratio-to-".length)} ${rounded(ratio)}`)
    .join(", ");

const rounded = (value: number): number => Number(value.toPrecision(3));

/** `2.04 thousand`, `1.3 billion`. */
function amount(value = Number.NaN): string {
  const [unit, name] = [
    [1e9, " billion"],
    [1e6, " million"],
    [1e3, " thousand"],
  ].find(([from]) => value >= (from as number)) ?? [1, ""];
  return `${rounded(value / (unit as number))}${name}`;
}
