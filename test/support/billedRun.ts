import { addCalls, billedCalls, calls, subtractCalls } from "../../src/engine/model/calls.ts";
import { CalculationError } from "../../src/engine/model/errors.ts";
import { expiryBlob } from "../../src/engine/model/names.ts";
import { flexBilling } from "../../src/engine/model/prices.ts";
import { spentOf } from "../../src/engine/model/spent.ts";
import { countedStorage } from "./countedStorage.ts";
import { engineWorld, simNames } from "./engineWorld.ts";
import type { RangesOptions } from "./rangesCode.ts";

/** A run in virtual time whose storage calls are counted, and whose instances are billed as Flex Consumption bills them. */
export interface BilledRun {
  readonly name: string;
  readonly packs: number;
  readonly packMs: number;
  /** Instances that compute, of two threads each. */
  readonly instances: number;
  /** An instance is killed each time so many seconds are over, and another one started. */
  readonly killEveryS?: number;
  readonly packLimitMs?: number;
  readonly code?: RangesOptions;
  readonly tolerate?: number;
  /** How it ends; complete by default. */
  readonly ends?: "failed";
}

interface Execution {
  readonly instance: string;
  readonly fromMs: number;
  toMs: number;
}

const packSize = 4;
const stepMs = 100;

export const billedRuns: readonly BilledRun[] = [
  { name: "nothing fails", packs: 600, packMs: 2_000, instances: 4 },
  { name: "packs of 250 ms", packs: 1_500, packMs: 250, instances: 3 },
  { name: "packs of 20 s", packs: 150, packMs: 20_000, instances: 6 },
  { name: "an instance is killed every 15 s", packs: 600, packMs: 3_000, instances: 4, killEveryS: 15 },
  {
    ...{ name: "one pack in 100 reaches the limit of 20 s, twice", packs: 400, packMs: 2_000, instances: 4 },
    ...{ packLimitMs: 20_000, tolerate: 100 },
    code: { doomChunk: (chunk) => (chunk % 400 === 7 ? "hangs" : undefined) },
  },
  {
    ...{ name: "one pack in 20 throws in three of ten attempts", packs: 600, packMs: 2_000, instances: 4 },
    code: {
      onChunk(chunk, random) {
        if (chunk % 80 === 3 && random.number() < 0.3) throw new Error("not now");
      },
    },
  },
  {
    ...{ name: "a run that fails half-way", packs: 600, packMs: 2_000, instances: 4, ends: "failed" },
    code: {
      onChunk(chunk) {
        if (chunk === 4 * 300) throw new CalculationError("not-json", "never");
      },
    },
  },
];

/** What was counted of a run, and the bill by the formula in relation to it. */
export async function playBilled(run: BilledRun, seed = 5) {
  const chunks = run.packs * packSize;
  const counted = countedStorage();
  const executions: Execution[] = [];
  const engine = engineWorld({
    ...{ seed, code: { chunkMs: () => run.packMs / packSize, ...run.code } },
    ...(run.packLimitMs === undefined ? {} : { packLimitMs: run.packLimitMs }),
    async handling(_delivery, work, instance) {
      const fromMs = engine.world.nowMs();
      const one = { instance, fromMs, toMs: Number.POSITIVE_INFINITY };
      executions.push(one);
      await work().finally(() => {
        one.toMs = engine.world.nowMs();
      });
    },
  });
  const { world, storage } = engine;
  const leads = { works: false, translated: counted.counting };
  const works = { leads: false, translated: counted.counting };
  engine.start({ ...leads, tickEveryMs: 1e9 });
  const workers = Array.from({ length: run.instances }, () => engine.start(works));
  await world.advance(3_000);
  await storage.blobs.create(simNames.runs, expiryBlob, "");
  const before = counted.counts();
  const startedMs = world.nowMs();
  const tolerate = run.tolerate === undefined ? {} : { tolerate: { chunks: run.tolerate } };
  await engine.submit({ id: "r", chunks, packSize, ...tolerate });
  let [ledMs, nextKillMs] = [0, startedMs + 1_000 * (run.killEveryS ?? Number.POSITIVE_INFINITY)];
  for (let ended = false; !ended; ) {
    await world.advance(stepMs);
    if (engine.instances.some((one) => one.leading())) ledMs += stepMs;
    if (world.nowMs() >= nextKillMs) {
      workers.shift()?.kill();
      workers.push(engine.start(works));
      nextKillMs += 1_000 * (run.killEveryS ?? 0);
    }
    const phase = (await engine.state("r"))?.phase;
    ended = phase === "complete" || phase === "failed";
    if (world.nowMs() - startedMs > 7_200_000) throw new Error(`${run.name}: no end in two hours`);
  }
  const endedMs = world.nowMs();
  // The clean-up comes after the end.
  await world.advance(60_000);
  const state = await engine.state("r");
  const spent = spentOf(state);
  const made = addCalls(subtractCalls(counted.counts(), before), calls({ write: 2, queue: 2 }));
  const diedMs = new Map(engine.instances.map((one) => [one.name, one.diedMs()]));
  const billedMs = ledMs + billedOf(executions, diedMs, endedMs);
  const gbS = (billedMs * flexBilling.memoryMb) / 1_024_000;
  return {
    ...{
      name: run.name,
      phase: state?.phase,
      seconds: (endedMs - startedMs) / 1_000,
      calls: billedCalls(made),
      gbS,
    },
    callsRatio: billedCalls(spent.calls) / billedCalls(made),
    gbSRatio: spent.cost.gbS / gbS,
  };
}

/** Each stretch in which anything executes on an instance is at least a second, then in steps of 100 ms. */
function billedOf(
  executions: readonly Execution[],
  diedMs: ReadonlyMap<string, number | undefined>,
  endedMs: number,
): number {
  let all = 0;
  for (const [instance, own] of Map.groupBy(executions, (one) => one.instance)) {
    const lastMs = Math.min(endedMs, diedMs.get(instance) ?? endedMs);
    let [fromMs, toMs] = [Number.NaN, Number.NEGATIVE_INFINITY];
    const bill = () => {
      if (toMs > fromMs) all += Math.ceil((toMs - fromMs) / stepMs) * stepMs;
    };
    for (const one of [...own].sort((a, b) => a.fromMs - b.fromMs)) {
      const untilMs = Math.min(one.toMs, lastMs);
      if (one.fromMs <= toMs) toMs = Math.max(toMs, untilMs);
      else {
        bill();
        [fromMs, toMs] = [one.fromMs, Math.max(untilMs, one.fromMs + flexBilling.leastMs)];
      }
    }
    bill();
  }
  return all;
}
