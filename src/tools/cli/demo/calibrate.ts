import { setImmediate as yieldNow } from "node:timers/promises";
import { primes } from "../../../calculations/primes.ts";
import { noFiles } from "../../../engine/calculation/files.ts";
import type { Clock } from "../../../engine/storage/ports.ts";

/** Numbers of primes: powers of ten from oeis.org/A006880, the others from primesieve 11 (github.com/kimwalisch/primesieve). */
export const publishedCounts: ReadonlyMap<number, number> = new Map([
  [1e1, 4],
  [1e2, 25],
  [1e3, 168],
  [1e4, 1_229],
  [1e5, 9_592],
  [1e6, 78_498],
  [1e7, 664_579],
  [1e8, 5_761_455],
  [1e9, 50_847_534],
  [1e10, 455_052_511],
  [2e10, 882_206_716],
  [3e10, 1_300_005_926],
  [5e10, 2_119_654_578],
  [1e11, 4_118_054_813],
  [2e11, 8_007_105_059],
  [3e11, 11_818_439_135],
  [5e11, 19_308_136_142],
  [1e12, 37_607_912_018],
]);

/** Values that a demo may choose: large enough for several instances. */
export const demoValues: readonly number[] = [...publishedCounts.keys()].filter((to) => to >= 1e9);

/** Intended seconds of the run, the middle of 20 to 40. */
const aimedS = 28;
/** Time of a whole run divided by that of the bare kernel: messages, partials, a killed leader, slower threads. Measured: 1.5 to 1.9. */
export const overhead = 1.8;

/** Time per number in a run up to `to`, on one thread. */
export interface Speed {
  readonly to: number;
  readonly msPerNumber: number;
}

/** The value whose run is nearest to `aimedS`, and its estimated time. */
export function chooseValue(speeds: readonly Speed[], threads: number) {
  const secondsOf = (to: number) => (to * costAt(speeds, to) * overhead) / threads / 1_000;
  const distance = (to: number) => Math.abs(Math.log(secondsOf(to) / aimedS));
  const to = demoValues.reduce((best, one) => (distance(one) < distance(best) ? one : best));
  return { to, seconds: secondsOf(to) };
}

/** Larger numbers cost more each: interpolated by the number of digits, and beyond the measured ones as the nearest. */
function costAt(speeds: readonly Speed[], to: number): number {
  const [low, high] = [speeds[0], speeds.at(-1)];
  if (low === undefined || high === undefined) return Number.NaN;
  if (low.to === high.to) return low.msPerNumber;
  const share = Math.min(1, Math.max(0, Math.log(to / low.to) / Math.log(high.to / low.to)));
  return low.msPerNumber + share * (high.msPerNumber - low.msPerNumber);
}

const measured = [1e10, 1e12] as const;
const measureMs = 300;

/** Times the kernel on this thread for less than two seconds, without blocking the screen. */
export async function measureSpeeds(clock: Clock, signal: AbortSignal): Promise<readonly Speed[]> {
  const speeds: Speed[] = [];
  for (const to of measured) {
    const params = { from: 0, to };
    const count = primes.plan(params, { files: noFiles }) as number;
    const compute = (at: number) =>
      primes.compute({ index: Math.floor(at * count), count, input: undefined, params, files: noFiles });
    // The first call makes tables and is compiled.
    compute(0.5);
    const startedMs = clock.monotonicMs();
    let chunks = 0;
    while (clock.monotonicMs() - startedMs < measureMs && !signal.aborted) {
      compute(((chunks * 7) % 16) / 16);
      chunks += 1;
      await yieldNow();
    }
    const ms = (clock.monotonicMs() - startedMs) / Math.max(1, chunks);
    speeds.push({ to, msPerNumber: (ms * count) / to });
  }
  return speeds;
}
