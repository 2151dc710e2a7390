import { threadPool } from "../../src/app/threadPool.ts";
import { primes } from "../../src/calculations/primes.ts";
import { noAccess, noFiles } from "../../src/engine/calculation/files.ts";
import { billingClasses, type CallCounts } from "../../src/engine/model/calls.ts";
import { billedRuns, playBilled } from "../support/billedRun.ts";
import { type RealApp, startRealApp } from "../support/realApp.ts";
import type { Bench } from "./bench.ts";
import { othersDuring } from "./cpu.ts";
import { quantile } from "./quantile.ts";
import { runUntilManifest } from "./runUntilManifest.ts";

const threads = 2;
const published: Readonly<Record<string, number>> = {
  "1e9": 50_847_534,
  "1e10": 455_052_511,
  "1e11": 4_118_054_813,
  "1e12": 37_607_912_018,
};
const goals: readonly { readonly to: string; readonly start: "warm" | "cold"; readonly ratio: number }[] = [
  { to: "1e11", start: "warm", ratio: 1.2 },
  { to: "1e11", start: "cold", ratio: 1.35 },
  { to: "1e12", start: "warm", ratio: 1.05 },
];

/**
 * The same kernel in the same two threads without storage and messages, against the time from submit to the manifest. Both
 * sides are warm and take turns; `cold` are instances that have just started, whose start is not counted.
 */
export const overheadBench: Bench = {
  name: "overhead",
  question:
    "what does a run cost beside its pure computing, in time and in storage calls, and how exact is its bill?",
  async run({ full, quick, say }) {
    const sizes = quick ? ["1e9"] : full ? ["1e11", "1e12"] : ["1e11"];
    const repeats = quick ? 2 : 5;
    const rows: Record<string, string | number>[] = [];
    const figures: Record<string, number> = {};
    const found: { goal: string; met: boolean }[] = [];
    for (const to of sizes) {
      const { pure, warm } = await inTurns(to, repeats, say);
      const cold = to === "1e12" ? [] : await coldRuns(to, repeats, say);
      const pureS = quantile(
        pure.map(({ seconds }) => seconds),
        0.5,
      );
      if (cold.length > 0) {
        const [few = 1, many = 1] = [warm, cold].map((runs) => medianPacks(runs)).sort((a, b) => a - b);
        found.push({
          goal: `primes to ${to}: cold and warm plans agree within a third in their packs`,
          met: many <= (4 / 3) * few,
        });
      }
      for (const [side, runs] of Object.entries({ pure, warm, cold })) {
        if (runs.length === 0) continue;
        const seconds = runs.map((run) => run.seconds);
        const [p50, ratio] = [quantile(seconds, 0.5), quantile(seconds, 0.5) / pureS];
        rows.push({ to, side, "median s": p50, from: Math.min(...seconds), until: Math.max(...seconds) });
        Object.assign(rows.at(-1) ?? {}, { ratio: round(ratio), ...costOf(runs) });
        Object.assign(figures, { [`${side}S-${to}`]: p50, [`${side}-ratio-${to}`]: ratio });
        const goal = goals.find((one) => one.to === to && one.start === side);
        if (goal === undefined) continue;
        const text = `primes to ${to}, ${side}, in at most ${goal.ratio} × the pure time`;
        found.push({ goal: text, met: ratio <= goal.ratio });
      }
    }
    const bills = await billRows(say);
    return { rows: [...rows, ...bills.rows], figures, goals: [...found, bills.goal] };
  },
};

/** Runs in virtual time, with kills, time limits and errors: the bill by the formula against what was called and executed. */
async function billRows(say: (line: string) => void) {
  const rows: Record<string, string | number>[] = [];
  let met = true;
  for (const run of billedRuns) {
    const { calls, callsRatio, gbS, gbSRatio } = await playBilled(run);
    say(
      `  bill, ${run.name}: ${round(callsRatio)} of ${calls} calls, ${round(gbSRatio)} of ${Math.round(gbS)} GB-s`,
    );
    rows.push({
      bill: run.name,
      calls,
      "calls, ratio": round(callsRatio),
      "GB-s": round(gbS),
      "GB-s, ratio": round(gbSRatio),
    });
    met &&= Math.abs(callsRatio - 1) < 0.1 && Math.abs(gbSRatio - 1) < 0.1;
  }
  return { rows, goal: { goal: "bills are within 10 % of what was called and executed", met } };
}

interface Timed {
  readonly seconds: number;
  /** Share of all cores that other processes took meanwhile. */
  readonly others: number;
  readonly packs?: number;
  readonly calls?: CallCounts;
}

const medianPacks = (runs: readonly Timed[]): number =>
  quantile(
    runs.map(({ packs = 0 }) => packs),
    0.5,
  );

/** Calls per pack, and what others took of the machine. */
function costOf(runs: readonly Timed[]): Record<string, string | number> {
  const packs = runs.map((run) => run.packs ?? Number.NaN);
  const others = `${Math.round(100 * Math.max(...runs.map((run) => run.others)))} %`;
  if (!packs.every(Number.isFinite)) return { "others, most": others };
  const perPack = billingClasses.map((one) => {
    const all = runs.map((run) => (run.calls?.[one] ?? 0) / (run.packs ?? 1));
    return [one, quantile(all, 0.5)] as const;
  });
  return { "others, most": others, packs: quantile(packs, 0.5), ...Object.fromEntries(perPack) };
}

async function inTurns(to: string, repeats: number, say: (line: string) => void) {
  const pool = threadPool({ threads, memoryMb: 512, files: [], access: noAccess, onIdleCrash: () => {} });
  const app = await startRealApp({ instances: threads });
  const [pure, warm]: [Timed[], Timed[]] = [[], []];
  try {
    await pureRun(pool, app, "1e9");
    await appRun(app, "1e10");
    while (warm.length < repeats) {
      pure.push(await pureRun(pool, app, to));
      warm.push(await appRun(app, to));
      say(
        `  ${to}: ${pure.at(-1)?.seconds} s of computing on ${threads} threads, ${warm.at(-1)?.seconds} s as a run`,
      );
    }
  } finally {
    await app.stop();
    await pool.stop();
  }
  return { pure, warm };
}

async function coldRuns(to: string, repeats: number, say: (line: string) => void): Promise<Timed[]> {
  const cold: Timed[] = [];
  while (cold.length < repeats) {
    const app = await startRealApp({ instances: threads });
    cold.push(await appRun(app, to).finally(() => app.stop()));
    say(`  ${to}: ${cold.at(-1)?.seconds} s on instances that have just started`);
  }
  return cold;
}

/** Until the manifest can be read; a run that is still closed afterwards is waited for. */
async function appRun(app: RealApp, to: string): Promise<Timed> {
  const { others, seconds, made } = await timed(app, () =>
    runUntilManifest(app, { calculation: "primes", params: { to } }),
  );
  const view = await app.until(made.run, (one) => !one.active);
  const answer = (JSON.parse(await app.result(made.run)) as { primes: number }).primes;
  if (answer !== published[to]) throw new Error(`primes to ${to}: ${answer} is wrong`);
  return { seconds, others, packs: view.packs?.total ?? 0, calls: view.calls };
}

/** All chunks of the run in packs of even size, on the pool alone. */
async function pureRun(pool: ReturnType<typeof threadPool>, app: RealApp, to: string): Promise<Timed> {
  const params = primes.params.parse({ to });
  const count = primes.plan(params, { files: noFiles }) as number;
  const task = { urgent: false, limitMs: 3_600_000 };
  const size = Math.max(1, Math.ceil(count / 200));
  const { seconds, others } = await timed(app, async () => {
    const packs = Array.from({ length: Math.ceil(count / size) }, (_, pack) => pack * size);
    await Promise.all(
      packs.map((from) =>
        pool.compute({ calculation: "primes", params, count, from, to: Math.min(from + size, count) }, task),
      ),
    );
  });
  return { seconds, others };
}

async function timed<Made>(app: RealApp, work: () => Promise<Made>) {
  const others = othersDuring([
    app.azuritePid,
    process.pid,
    ...app.instances.instances.map(({ pid = 0 }) => pid),
  ]);
  const startedMs = performance.now();
  const made = await work();
  return { made, seconds: round((performance.now() - startedMs) / 1000), others: others().share };
}

const round = (value: number): number => Math.round(value * 1000) / 1000;
