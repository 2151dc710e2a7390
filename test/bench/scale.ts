import { addCalls, billingClasses } from "../../src/engine/model/calls.ts";
import { limits } from "../../src/engine/model/limits.ts";
import { azureScaling, containerScaling, secondsTo } from "../sim/scale/platform.ts";
import { runLeading } from "../sim/scale/runLeading.ts";
import { runScale, type ScaleCase, type ScaleResult } from "../sim/scale/runScale.ts";
import { azureLimits } from "../sim/scale/serviceLimits.ts";
import type { Bench } from "./bench.ts";

/** A case by the name that its row has. Packs are a second of core time and hold 100 chunks unless it says otherwise. */
interface NamedCase extends Omit<ScaleCase, "packMs" | "workers"> {
  readonly name: string;
  readonly workers: number | "elastic" | "containers";
  readonly packMs?: number;
  readonly size: "quick" | "usual" | "full";
}

/** The default cap of 2,000 packs in flight is what a thousand workers hold in their hands. */
const roomy = 20_000;
const puts = putsOnly();

const cases: readonly NamedCase[] = [
  { name: "one worker", packs: 1_000, workers: 1, size: "quick" },
  { name: "ten workers", packs: 1_000, workers: 10, size: "quick" },
  { name: "a worker for each pack", packs: 1_000, workers: 1_000, size: "usual" },
  { name: "target", packs: 10_000, workers: 200, size: "quick" },
  { name: "a queue counts puts", packs: 30_000, workers: 1_000, cap: roomy, size: "usual", limits: puts },
  { name: "a queue counts calls", packs: 30_000, workers: 1_000, cap: roomy, size: "usual" },
  { name: "as the platform scales", packs: 10_000, workers: "elastic", size: "usual" },
  { name: "as containers scale", packs: 10_000, workers: "containers", size: "usual" },
  { name: "from zero, functions apart", packs: 400, workers: "elastic", apart: { ready: [] }, size: "quick" },
  { name: "the same, wake ready", packs: 400, workers: "elastic", apart: { ready: ["wake"] }, size: "quick" },
];

const platforms = { elastic: azureScaling, containers: containerScaling };

function putsOnly() {
  return { ...azureLimits, queueCounts: "puts" } as const;
}

export const scaleBench: Bench = {
  name: "scale",
  question: "how does a run grow to a million packs and a thousand workers, on a model of the real service?",
  async run({ full, quick, say }) {
    const wanted = quick ? ["quick"] : full ? ["quick", "usual", "full"] : ["quick", "usual"];
    const rows: Record<string, string | number>[] = [];
    const figures: Record<string, number> = {};
    const goals: { goal: string; met: boolean }[] = [];
    for (const { name, size, workers, packMs = 1_000, ...rest } of cases) {
      if (!wanted.includes(size)) continue;
      const startedMs = performance.now();
      const run = await runScale({
        ...rest,
        packMs,
        workers: typeof workers === "number" ? workers : platforms[workers],
      });
      const simulatedS = (performance.now() - startedMs) / 1_000;
      const row = rowOf({ packs: rest.packs, workers, cores: rest.cores ?? 1, packMs }, run);
      rows.push({ name, ...row });
      say(`  ${name}: ${row.wallS} s, ${row.used} used, simulated in ${rounded(simulatedS, 1)} s`);
      figures[`packsPerS ${name}`] = row.packsPerS;
      if (typeof row.ratio === "number") figures[`ratio ${name}`] = row.ratio;
      const chunks = rest.packs * (rest.chunksPerPack ?? 100);
      if (run.result !== `[[0,${chunks}]]`) throw new Error(`${name}: the result is ${run.result}`);
      if (name !== "target") continue;
      Object.assign(figures, { callsPerChunk: run.callsPerPack / 100, dollarsPerMillionChunks: run.dollars });
      goals.push(
        {
          goal: "10,000 packs of 1 s on 200 warm workers in 1.15 × the ideal 50 s",
          met: Number(row.ratio) <= 1.15,
        },
        { goal: "at most 0.05 billed calls per chunk in packs of 100", met: run.callsPerPack / 100 <= 0.05 },
      );
    }
    const { sendsPerS } = await runLeading({ packs: quick ? 20_000 : 100_000, perS: 10_000, packMs: 1_000 });
    figures["leaderPacksPerS"] = rounded(sendsPerS, 0);
    goals.push({ goal: "the leader alone sends more than 500 packs/s", met: sendsPerS > 500 });
    say(
      `  The leader alone sends ${rounded(sendsPerS, 0)} packs/s. What comes next, and what to do about it:`,
    );
    for (const line of nextLimits) say(`    ${line}`);
    for (const [platform, scaling] of Object.entries(platforms)) {
      figures[`secondsTo1000 ${platform}`] = secondsTo(1_000, scaling);
      say(`  ${platform}: a thousand workers ${secondsTo(1_000, scaling)} s after the first decision`);
    }
    return { rows, figures, goals };
  },
};

const nextLimits = [
  "workers: more of them; the platform adds 4 instances each half minute, so always-ready instances where it matters.",
  `cap: 1,000 workers hold half of the default of ${limits.capDefault} packs in flight in their hands; raise it for more.`,
  `one queue: ${azureLimits.queuePerS} messages/s are 2,000 packs/s if it counts puts, 667 if it counts each put, get and delete; longer packs.`,
  "leader: see above; longer packs, since its work grows with packs and not with chunks.",
  "single blobs: each instance reads spec and plan once, so several hundred that begin in one second are refused and ask again.",
  `account: ${azureLimits.accountPerS} requests/s are about 4,600 packs/s at 4.3 calls a pack; a second account.`,
];

function rowOf(
  of: { packs: number; workers: NamedCase["workers"]; cores: number; packMs: number },
  run: ScaleResult,
) {
  const { packs, workers, cores, packMs } = of;
  const packsPerS = rounded(sustained(run.perSecond), 1);
  const calls = addCalls(run.leaderCalls, run.workerCalls);
  return {
    ...{ packs, workers, packMs, wallS: rounded(run.wallMs / 1_000, 1) },
    // What the platform gives, and when, is no ideal to compare with.
    ratio:
      typeof workers === "string"
        ? "–"
        : rounded((run.wallMs * Math.min(workers * cores, packs)) / (packs * packMs), 3),
    used: `${Math.round(run.utilisation * 100)} %`,
    packsPerS,
    ...Object.fromEntries(billingClasses.map((one) => [one, calls[one]])),
    dollars: rounded(run.dollars, 4),
    // In packs of 100, whatever they are here.
    callsPerChunk: rounded(run.callsPerPack / 100, 4),
    refused: run.refused.account + run.refused.queue + run.refused.blob,
    limitedBy: limitOf(
      run,
      typeof workers === "string" ? undefined : (packsPerS * packMs) / (1_000 * workers * cores),
    ),
  };
}

/** The best mean of ten seconds on end, or of all where there are fewer. */
function sustained(perSecond: readonly number[]): number {
  const width = Math.min(10, perSecond.length);
  let sum = perSecond.slice(0, width).reduce((all, one) => all + one, 0);
  let best = sum;
  for (let second = width; second < perSecond.length; second += 1) {
    sum += (perSecond[second] ?? 0) - (perSecond[second - width] ?? 0);
    best = Math.max(best, sum);
  }
  return best / width;
}

/** `busy`: share of the cores at work in the best ten seconds; undefined where the platform decides how many there are. */
function limitOf(run: ScaleResult, busy: number | undefined): string {
  if (run.refused.queue > run.perSecond.length) return "one queue";
  if (run.refused.blob + run.refused.account > 10 * run.perSecond.length) return "another limit";
  if (busy === undefined) return "the platform's pace";
  if (busy > 0.85) return "workers";
  return run.wallMs < 20_000 ? "start and end" : "leader or cap";
}

const rounded = (value: number, digits: number): number => Math.round(value * 10 ** digits) / 10 ** digits;
