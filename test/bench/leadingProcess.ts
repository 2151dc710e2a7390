/**
 * One run under the real coordinator in a process of its own, so that its memory is nobody else's: storage here keeps
 * no partials and no messages. `node --expose-gc test/bench/leadingProcess.ts PACKS PACKS_PER_SECOND`
 */
import { type LeadingResult, runLeading } from "../sim/scale/runLeading.ts";

/** What the process tells, as one line of JSON. */
export interface LeadingFigures extends LeadingResult {
  /** The most that was resident, and the most that was alive when the state was written. */
  readonly residentMb: number;
  readonly liveMb: number;
}

const [packs, perS] = process.argv.slice(2).map(Number) as [number, number];
const mb = (bytes: number): number => Math.round((bytes / 2 ** 20) * 10) / 10;
/** A collection takes longer than a loop. */
const collectEvery = 20;
let writes = 0;
let liveMb = 0;

const run = await runLeading({
  ...{ packs, perS, packMs: 1_000 },
  cpuMs: () => {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1_000;
  },
  onStateWrite() {
    writes += 1;
    if (writes % collectEvery !== 0) return;
    globalThis.gc?.();
    const { heapUsed, external } = process.memoryUsage();
    liveMb = Math.max(liveMb, mb(heapUsed + external));
  },
});
const figures: LeadingFigures = {
  ...run,
  residentMb: mb(process.resourceUsage().maxRSS * 1024),
  liveMb,
};
console.log(JSON.stringify(figures));
