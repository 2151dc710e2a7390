import { addCalls, billingClasses } from "../../src/model/calls.ts";
import { azureScaling } from "../sim/scale/platform.ts";
import { runLeading } from "../sim/scale/runLeading.ts";
import { runScale, type ScaleCase, type ScaleResult } from "../sim/scale/runScale.ts";
import { azureLimits } from "../sim/scale/serviceLimits.ts";
import type { Bench } from "./bench.ts";

/** A case by the name that its row has. Packs take a second and hold 100 chunks unless it says otherwise. */
interface NamedCase extends Omit<ScaleCase, "packMs" | "threads"> {
  readonly name: string;
  readonly threads: number | "elastic";
  readonly packMs?: number;
  readonly size: "quick" | "usual" | "full";
}

/** With the default cap of packs in flight, a thousand threads have two seconds of work before them. */
const roomy = 20_000;

const cases: readonly NamedCase[] = [
  { name: "one thread", packs: 1_000, threads: 1, size: "quick" },
  { name: "ten threads", packs: 1_000, threads: 10, size: "quick" },
  { name: "more threads than packs", packs: 1_000, threads: 1_000, size: "usual" },
  { name: "target", packs: 10_000, threads: 200, size: "quick" },
  { name: "longer packs", packs: 10_000, threads: 1_000, packMs: 5_000, cap: roomy, size: "usual" },
  {
    name: "a queue counts puts",
    packs: 30_000,
    threads: 1_000,
    cap: roomy,
    size: "usual",
    limits: putsOnly(),
  },
  { name: "the same, default cap", packs: 30_000, threads: 1_000, size: "usual", limits: putsOnly() },
  { name: "a queue counts calls", packs: 30_000, threads: 1_000, cap: roomy, size: "usual" },
  {
    name: "packs of 2 s, counts calls",
    packs: 30_000,
    threads: 1_000,
    packMs: 2_000,
    cap: roomy,
    size: "usual",
  },
  { name: "as the platform scales", packs: 10_000, threads: "elastic", size: "usual" },
  { name: "100,000", packs: 100_000, threads: 200, size: "full" },
  { name: "a million on 200", packs: 1_000_000, threads: 200, chunksPerPack: 10, size: "full" },
  {
    ...{ name: "a million on 1,000", packs: 1_000_000, threads: 1_000, chunksPerPack: 10 },
    ...{ packMs: 2_000, cap: roomy, size: "full" },
  },
];

function putsOnly() {
  return { ...azureLimits, queueCounts: "puts" } as const;
}

export const scaleBench: Bench = {
  name: "scale",
  question: "how does a run grow to a million packs and a thousand threads, on a model of the real service?",
  async run({ full, quick, say }) {
    const wanted = quick ? ["quick"] : full ? ["quick", "usual", "full"] : ["quick", "usual"];
    const rows: Record<string, string | number>[] = [];
    const figures: Record<string, number> = {};
    const goals: { goal: string; met: boolean }[] = [];
    for (const { name, size, threads, packMs = 1_000, ...rest } of cases) {
      if (!wanted.includes(size)) continue;
      say(`  ${name} …`);
      const startedMs = performance.now();
      const run = await runScale({
        ...rest,
        packMs,
        threads: threads === "elastic" ? azureScaling : threads,
      });
      const simulatedS = (performance.now() - startedMs) / 1_000;
      const row = rowOf({ packs: rest.packs, threads, packMs }, run);
      rows.push({ name, ...row, simulatedS: rounded(simulatedS, 1) });
      figures[`packsPerS ${name}`] = row.packsPerS;
      if (typeof row.ratio === "number") figures[`ratio ${name}`] = row.ratio;
      const chunks = rest.packs * (rest.chunksPerPack ?? 100);
      if (run.result !== `[[0,${chunks}]]`) throw new Error(`${name}: the result is ${run.result}`);
      if (name !== "target") continue;
      Object.assign(figures, { callsPerChunk: run.callsPerPack / 100, dollarsPerMillionChunks: run.dollars });
      goals.push(
        {
          goal: "10,000 packs of 1 s on 200 warm threads in 1.15 × the ideal 50 s",
          met: Number(row.ratio) <= 1.15,
        },
        { goal: "at most 0.05 billed calls per chunk in packs of 100", met: run.callsPerPack / 100 <= 0.05 },
      );
    }
    const { sendsPerS } = await runLeading({ packs: quick ? 20_000 : 100_000, perS: 10_000, packMs: 1_000 });
    figures["leaderPacksPerS"] = rounded(sendsPerS, 0);
    goals.push({ goal: "the leader alone sends more than 1,000 packs/s", met: sendsPerS > 1_000 });
    say(
      `  The leader alone sends ${rounded(sendsPerS, 0)} packs/s. What comes next, and what to do about it:`,
    );
    for (const line of nextLimits) say(`    ${line}`);
    return { rows, figures, goals };
  },
};

const nextLimits = [
  "threads: more of them; the platform adds 4 instances each half minute, so always-ready instances where it matters.",
  "cap: the default of 2,000 packs in flight is two seconds of work for 1,000 threads with packs of 1 s; raise it.",
  `one queue: ${azureLimits.queuePerS} messages/s are 2,000 packs/s if it counts puts, 667 if it counts each put, get and delete; longer packs.`,
  "leader: see above; longer packs, since its work grows with packs and not with chunks.",
  "single blobs: each instance reads spec and plan once, so several hundred that begin in one second are refused and ask again.",
  `account: ${azureLimits.accountPerS} requests/s are about 4,600 packs/s at 4.3 calls a pack; a second account.`,
];

function rowOf(
  { packs, threads, packMs }: { packs: number; threads: number | "elastic"; packMs: number },
  run: ScaleResult,
) {
  const count = run.perSecond.length;
  const middle = run.perSecond.slice(Math.floor(count / 4), Math.ceil((count * 3) / 4));
  const packsPerS = rounded(middle.reduce((sum, one) => sum + one, 0) / middle.length, 1);
  const calls = addCalls(run.leaderCalls, run.workerCalls);
  return {
    ...{ packs, threads, packMs, wallS: rounded(run.wallMs / 1_000, 1) },
    // What the platform gives, and when, is no ideal to compare with.
    ratio:
      threads === "elastic" ? "–" : rounded((run.wallMs * Math.min(threads, packs)) / (packs * packMs), 3),
    used: `${Math.round(run.utilisation * 100)} %`,
    packsPerS,
    ...Object.fromEntries(billingClasses.map((one) => [one, calls[one]])),
    dollars: rounded(run.dollars, 4),
    // In packs of 100, whatever they are here.
    callsPerChunk: rounded(run.callsPerPack / 100, 4),
    refused: run.refused.account + run.refused.queue + run.refused.blob,
    limitedBy: limitOf(run, threads, packsPerS * (packMs / 1_000)),
  };
}

function limitOf(run: ScaleResult, threads: number | "elastic", busy: number): string {
  if (run.refused.queue > run.perSecond.length) return "one queue";
  if (run.refused.blob + run.refused.account > run.perSecond.length) return "another limit";
  if (threads === "elastic") return "the platform's pace";
  return busy > 0.85 * threads ? "threads" : run.wallMs < 20_000 ? "start and end" : "leader or cap";
}

const rounded = (value: number, digits: number): number => Math.round(value * 10 ** digits) / 10 ** digits;
