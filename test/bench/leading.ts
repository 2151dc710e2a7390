import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { dollarsOf, totalCalls } from "../../src/engine/model/calls.ts";
import { limits } from "../../src/engine/model/limits.ts";
import { idleHour } from "../sim/scale/idleHour.ts";
import type { Bench } from "./bench.ts";
import { idleInstance } from "./idleInstance.ts";
import type { LeadingFigures } from "./leadingProcess.ts";
import { quantile } from "./quantile.ts";

/** Runs side by side: packs, and how many of them the workers finish in a second. */
const sizes = {
  quick: [
    [1_000, 5],
    [20_000, 200],
  ],
  usual: [
    [1_000, 0.5],
    [1_000, 5],
    [7_000, 100],
    [64_000, 500],
    [100_000, 500],
    [1_000_000, 500],
  ],
} as const;

/** A minute after a run its threads have ended. */
const idleAfterS = { quick: 40, usual: 60 };

/** Real coordinators in processes of their own and in virtual time; only CPU time and memory are the machine's. */
export const leadingBench: Bench = {
  name: "leading",
  question:
    "what does leading cost, in calls, CPU and memory, does it grow with the run, and what does an idle instance hold?",
  async run({ quick, say }) {
    const rows: Record<string, string | number>[] = [];
    const runs: LeadingFigures[] = [];
    for (const [packs, perS] of quick ? sizes.quick : sizes.usual) {
      say(`  ${packs} packs at ${perS}/s …`);
      const run = await leadInProcess(packs, perS);
      runs.push(run);
      rows.push({
        ...{ packs, perS, minutes: rounded(run.wallMs / 60_000, 1), loops: run.loops },
        callsPerMinute: rounded(run.callsPerMinute, 0),
        pagesMax: run.pagesPerLoopMax,
        partPages: rounded(run.partPages / run.partLoops, 2),
        sendsMax: run.sendsBetweenWritesMax,
        ...cpuOf(run),
        ...{ residentMb: run.residentMb, liveMb: run.liveMb },
        stateKb: rounded(run.stateBytesMax / 1024, 1),
        bytesPerShard: rounded(run.stateBytesPerShard, 0),
      });
    }
    const idle = await idleHour();
    say(`  an hour with nothing to lead: ${totalCalls(idle)} calls, $${rounded(dollarsOf(idle), 5)}`);
    const { freshMb, workedMb } = await idleInstance(quick ? idleAfterS.quick : idleAfterS.usual);
    say(`  an idle instance holds ${freshMb} MB before its first run and ${workedMb} MB after one`);

    const small = runs[0] as LeadingFigures;
    const large = runs.at(-1) as LeadingFigures;
    const most = (of: (run: LeadingFigures) => number): number => Math.max(...runs.map(of));
    const figures = {
      pagesPerLoopMax: most((run) => run.pagesPerLoopMax),
      partPagesPerLoop: most((run) => run.partPages / run.partLoops),
      callsPerMinute: most((run) => run.callsPerMinute),
      sendsBetweenWritesMax: most((run) => run.sendsBetweenWritesMax),
      ownCpuMs: cpuOf(large).cpuP95,
      moreResidentMb: large.residentMb - small.residentMb,
      moreLiveMb: large.liveMb - small.liveMb,
      idleCallsPerHour: totalCalls(idle),
      ...{ idleFreshMb: freshMb, idleWorkedMb: workedMb },
    };
    return {
      rows,
      figures,
      goals: [
        { goal: "at most 25 list pages a loop", met: figures.pagesPerLoopMax <= limits.pagesPerLoopMax },
        { goal: "about 2 pages of partials a loop", met: figures.partPagesPerLoop <= 2.5 },
        { goal: "at most 300 calls a minute", met: figures.callsPerMinute <= 300 },
        {
          goal: "at most 500 sends between two writes of the state",
          met: figures.sendsBetweenWritesMax <= 500,
        },
        { goal: "a loop's own CPU under 50 ms (19 of 20 loops)", met: figures.ownCpuMs < 50 },
        { goal: "at most 64 MB more resident than for 1,000 packs", met: figures.moreResidentMb <= 64 },
        { goal: "an idle instance holds at most 120 MB", met: Math.max(freshMb, workedMb) <= 120 },
      ],
    };
  },
};

/** Of the later half, when the state is largest and the code is compiled. */
function cpuOf({ ownCpuMs }: LeadingFigures) {
  const later = ownCpuMs.slice(Math.floor(ownCpuMs.length / 2));
  const at = (share: number): number => rounded(quantile(later, share), 1);
  return { cpuP50: at(0.5), cpuP95: at(0.95), cpuMax: at(1) };
}

/** Else V8 lets it grow by 100 MB while there is memory, whatever is alive, and says nothing about the leader. */
const youngGeneration = "--max-semi-space-size=8";

async function leadInProcess(packs: number, perS: number): Promise<LeadingFigures> {
  const file = join(import.meta.dirname, "leadingProcess.ts");
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ["--expose-gc", youngGeneration, file, String(packs), String(perS)],
    { maxBuffer: 2 ** 26 },
  );
  return JSON.parse(stdout) as LeadingFigures;
}

const rounded = (value: number, digits: number): number => Math.round(value * 10 ** digits) / 10 ** digits;
