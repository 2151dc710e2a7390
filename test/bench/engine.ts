import { billingClasses, dollarsOf } from "../../src/engine/model/calls.ts";
import type { Bench } from "./bench.ts";
import { crashTails, killedRuns } from "./engineKills.ts";
import { billedCalls, makeReport, perPiece, type Report, round } from "./engineReport.ts";
import { asInAzure, chainRuns, type TimedRun } from "./engineRuns.ts";
import { emulatorCosts } from "./engineStorage.ts";
import { quantile } from "./quantile.ts";

interface Amounts {
  /** How often the run of many chunks is repeated; the median counts. */
  readonly times: number;
  readonly chunks: number;
  readonly packs: number;
  /** Packs of the run that asks how fast small ones go. */
  readonly many: number;
  readonly kills: number;
  readonly tails: number;
  readonly liveBlobs: readonly number[];
}

const usual: Amounts = {
  ...{ times: 3, chunks: 100_000, packs: 2_000, many: 10_000, kills: 30, tails: 5 },
  liveBlobs: [0, 10_000],
};
const full: Amounts = { ...usual, times: 5, tails: 20, liveBlobs: [0, 10_000, 50_000] };
/** Only tries the bench itself. */
const few: Amounts = {
  ...{ times: 1, chunks: 20_000, packs: 200, many: 1_000, kills: 2, tails: 1 },
  liveBlobs: [0, 1_000],
};

/** Trivial chunks, in real processes on a real Azurite. */
export const engineBench: Bench = {
  name: "engine",
  question: "what do runs of trivial chunks cost in time, calls and dollars, and what do kills cost them?",
  async run(options) {
    const amounts = options.quick ? few : options.full ? full : usual;
    const report = makeReport(options.say);
    await speed(report, amounts);
    await smallPacks(report, amounts);
    await economy(report, amounts);
    await kills(report, amounts);
    await tails(report, amounts);
    await emulator(report, amounts);
    return report.result();
  },
};

async function speed(report: Report, { chunks, times }: Amounts): Promise<void> {
  const runs = await chainRuns({}, times, { chunks, packSize: 1_000 });
  const perS = chunks / median(runs, (run) => run.seconds);
  report.say(`${chunks} chunks in packs of 1,000: ${round(perS)} a second`);
  report.row(`chunks/s from submit to result: ${chunks} in packs of 1,000, median of ${times}`, round(perS));
  report.figures({ chunksPerS: perS });
  tellShares(report, "chunks", runs);
  report.goal("at least 30,000 chunks/s from submit to result", perS >= 30_000);
}

const packSize = 100;

/** Packs a second where each takes no time: what worker, leader and emulator do for one. */
async function smallPacks(report: Report, { many }: Pick<Amounts, "many">): Promise<void> {
  const runs = await chainRuns({}, 1, { chunks: many * packSize, packSize });
  const perS = many / median(runs, (run) => run.seconds);
  report.say(`${many} packs of ${packSize}: ${round(perS)} packs a second`);
  report.row(`packs/s from submit to result: ${many} of ${packSize}`, round(perS));
  report.figures({ manyPacksPerS: perS });
  tellShares(report, "many", runs);
  report.goal(`at least 300 packs/s over ${many} packs of ${packSize}`, perS >= 300);
}

/** Calls and dollars, with all that leads, polls and deletes messages. */
async function economy(report: Report, { packs }: Amounts): Promise<void> {
  const chunks = packs * packSize;
  const [run] = await chainRuns(asInAzure, 1, { chunks, packSize });
  if (run === undefined) return;
  const packsPerS = packs / run.seconds;
  report.say(`${packs} packs of ${packSize}: ${round(packsPerS)} packs a second`);
  const { calls } = run;
  const callsPerChunk = billedCalls(calls) / chunks;
  const dollarsPerMillion = (1e6 * dollarsOf(calls)) / chunks;

  report.row(`packs/s from submit to result: ${packs} packs`, round(packsPerS));
  tellShares(report, "packs", [run]);
  report.row(`billed calls per chunk, packs of ${packSize}`, round(callsPerChunk));
  report.row("by class, per pack", perPiece(calls, packs));
  report.row("dollars per million chunks, by calls", round(dollarsPerMillion));
  report.figures({ packsPerS, callsPerChunk, dollarsPerMillion });
  report.figures(Object.fromEntries(billingClasses.map((one) => [`${one}-per-pack`, calls[one] / packs])));
  report.goal(`at least 60 packs/s over ${packs} packs`, packsPerS >= 60);
  report.goal(`at most 0.05 billed calls per chunk at packs of ${packSize}`, callsPerChunk <= 0.05);
}

/** What kept a run from being quicker. */
function tellShares(report: Report, name: string, runs: readonly TimedRun[]): void {
  const azurite = median(runs, (run) => run.azuriteShare);
  const others = median(runs, (run) => run.othersShare);
  report.row("there: share of one core that Azurite took, which has only one", round(azurite));
  report.row("there: share of all cores that other work on this machine took", round(others));
  report.figures({ [`${name}-azuriteShare`]: azurite, [`${name}-othersShare`]: others });
}

const median = (runs: readonly TimedRun[], of: (run: TimedRun) => number): number =>
  quantile(runs.map(of), 0.5);

async function kills(report: Report, { packs, kills }: Amounts): Promise<void> {
  const { runs, duplicates } = await killedRuns(packs, kills, report.say);
  const seconds = median(runs, (run) => run.seconds);
  const again = runs.reduce((sum, { view }) => sum + (view.packs?.resent ?? 0), 0);
  const exact = runs.filter((run) => run.exact).length;
  const what = `${packs} packs on four instances, one killed each 3 s until ${kills} were`;
  report.row(`${what}: seconds of a run, median of ${runs.length}`, round(seconds));
  report.row("packs resent; of them computed although another had", `${again}; ${duplicates}`);
  report.figures({ "killed-seconds": seconds, "killed-again": again, "killed-duplicates": duplicates });
  report.goal(
    `each result is byte for byte that of one loop (${exact} of ${runs.length})`,
    exact === runs.length,
  );
}

async function tails(report: Report, { tails: times }: Amounts): Promise<void> {
  const tails = await crashTails(times);
  const worst = tails.reduce((a, b) => (b.seconds / b.boundS > a.seconds / a.boundS ? b : a));
  report.say(
    `worker killed in mid-pack: ${tails.map(({ seconds }) => round(seconds)).join(", ")} s to the result`,
  );
  report.row(`worker killed in mid-pack: seconds to the result, worst of ${times}`, round(worst.seconds));
  report.figures({ "tail-seconds": worst.seconds, "tail-bound": worst.boundS });
  const bound = `within 4 × p95 of a pack + 2 s + two loops (${round(worst.boundS)} s)`;
  report.goal(`after a worker's death in mid-pack the run ends ${bound}`, worst.seconds <= worst.boundS);
}

async function emulator(report: Report, { liveBlobs }: Amounts): Promise<void> {
  for (const { liveBlobs: live, cpuMs } of await emulatorCosts(liveBlobs)) {
    const told = Object.entries(cpuMs).map(([name, ms]) => `${name} ${round(ms)}`);
    report.row(`Azurite with ${live} live blobs: CPU ms of a call`, told.join(" · "));
    for (const [name, ms] of Object.entries(cpuMs)) report.figures({ [`azurite-${name}-ms-at-${live}`]: ms });
  }
}
