import { spawnSync } from "node:child_process";
import { primes } from "../../../src/calculations/primes.ts";
import type { CalculationBench } from "./measure.ts";
import { jsonOf, serialRun } from "./serialRun.ts";

/** https://oeis.org/A006880 */
const published: Readonly<Record<string, number>> = { "1e9": 50_847_534, "1e10": 455_052_511 };

export const primesBench: CalculationBench = {
  name: "primes",
  unit: "numbers",
  async measure({ quick, say }) {
    const to = quick ? "1e9" : "1e10";
    await serialRun(primes, { to: "1e8" });
    const { seconds, result } = await serialRun(primes, { to });
    const count = jsonOf(result)["primes"];
    if (count !== published[to]) throw new Error(`primes to ${to}: ${count} is wrong`);
    const perS = Number(to) / seconds;
    const other = primesieveSeconds(to, count);
    if (other === undefined) {
      say("primesieve is not installed");
      return { perS, seconds };
    }
    return { perS, seconds, "primesieve-seconds": other, "ratio-to-primesieve": seconds / other };
  },
  goals: [
    {
      goal: "primes in one thread in at most 1.1 × the time of primesieve",
      needs: "ratio-to-primesieve",
      met: (figures) => (figures["ratio-to-primesieve"] ?? Number.NaN) <= 1.1,
    },
  ],
  whole: (quick) => ({ params: { to: quick ? "2e9" : "3e11" } }),
};

/** Its own process in one thread, start-up included; undefined where there is none. */
function primesieveSeconds(to: string, primes: unknown): number | undefined {
  const startedMs = performance.now();
  const { status, stdout } = spawnSync("primesieve", [to, "--threads=1", "--quiet"], { encoding: "utf8" });
  const seconds = (performance.now() - startedMs) / 1000;
  if (status !== 0) return undefined;
  if (Number(/\d+/.exec(stdout)?.[0]) !== primes) throw new Error(`primesieve to ${to} says ${stdout}`);
  return seconds;
}
