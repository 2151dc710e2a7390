import { noAccess, noFiles } from "../../src/calculations/files.ts";
import { primes } from "../../src/calculations/primes.ts";
import { submit } from "../../src/client/submit.ts";
import { billingClasses } from "../../src/model/calls.ts";
import { threadPool } from "../../src/worker/threads/threadPool.ts";
import { startRealApp } from "../support/realApp.ts";
import type { Bench } from "./bench.ts";

const threads = 2;
const published: Readonly<Record<string, number>> = {
  "1e10": 455_052_511,
  "1e11": 4_118_054_813,
  "1e12": 37_607_912_018,
};

/** The same kernel in the same two threads without storage and messages, against the wall time of a whole run. */
export const overheadBench: Bench = {
  name: "overhead",
  question: "what does a run cost beside its pure computing, in time and in storage calls?",
  async run({ full, say }) {
    const rows: Record<string, string | number>[] = [];
    const figures: Record<string, number> = {};
    const goals: { goal: string; met: boolean }[] = [];
    const sizes = full ? ["1e11", "1e12"] : ["1e10", "1e11"];
    for (const to of sizes) {
      const pureS = await pureSeconds(to);
      say(`  ${to}: ${pureS.toFixed(1)} s of computing on ${threads} threads`);
      const app = await startRealApp({ instances: threads });
      try {
        const startedMs = performance.now();
        const { run } = await submit(app.client, { calculation: "primes", params: { to } });
        const view = await app.until(run, (one) => !one.active, 3_600_000);
        const wallS = (performance.now() - startedMs) / 1000;
        const answer = (JSON.parse(await app.result(run)) as { primes: number }).primes;
        if (answer !== published[to]) throw new Error(`primes to ${to}: ${answer} is wrong`);
        const packs = view.packs?.total ?? 0;
        const ratio = wallS / pureS;
        const calls = Object.fromEntries(
          billingClasses.map((one) => [one, round((view.calls?.[one] ?? 0) / packs)]),
        );
        rows.push({ to, pureS: round(pureS), wallS: round(wallS), ratio: round(ratio), packs, ...calls });
        Object.assign(figures, { [`ratio-${to}`]: ratio, [`pureS-${to}`]: pureS, [`wallS-${to}`]: wallS });
        for (const one of billingClasses) figures[`${one}-per-pack-${to}`] = calls[one] as number;
        const goal = { "1e11": 1.25, "1e12": 1.1 }[to];
        if (goal !== undefined)
          goals.push({ goal: `primes to ${to} in at most ${goal} × the pure time`, met: ratio <= goal });
      } finally {
        await app.stop();
      }
    }
    return { rows, figures, goals };
  },
};

/** All chunks of the run in packs of even size, on the pool alone. */
async function pureSeconds(to: string): Promise<number> {
  const params = primes.params.parse({ to });
  const count = primes.plan(params, { files: noFiles }) as number;
  const pool = threadPool({ threads, memoryMb: 512, files: [], access: noAccess, onIdleCrash: () => {} });
  const task = { urgent: false, limitMs: 3_600_000 };
  const job = { calculation: "primes", params, count };
  try {
    await Promise.all([0, 1].map((from) => pool.compute({ ...job, from, to: from + 1 }, task)));
    const startedMs = performance.now();
    const size = Math.max(1, Math.ceil(count / 200));
    const packs = Array.from({ length: Math.ceil(count / size) }, (_, pack) => pack * size);
    await Promise.all(
      packs.map((from) => pool.compute({ ...job, from, to: Math.min(from + size, count) }, task)),
    );
    return (performance.now() - startedMs) / 1000;
  } finally {
    await pool.stop();
  }
}

const round = (value: number): number => Math.round(value * 1000) / 1000;
