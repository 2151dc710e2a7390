import { setTimeout as sleep } from "node:timers/promises";
import { readManifest, readState } from "../../src/engine/client/runDocuments.ts";
import { submit } from "../../src/engine/client/submit.ts";
import { p95 } from "../../src/engine/model/quantile.ts";
import { busyFollower } from "../support/busyFollower.ts";
import type { RealApp } from "../support/realApp.ts";
import { startChainApp, type TimedRun, timedRun } from "./engineRuns.ts";

const instances = 4;

export interface KilledRuns {
  readonly runs: readonly TimedRun[];
  readonly kills: number;
  /** Packs that were computed to their end although their partial was there already. */
  readonly duplicates: number;
}

/**
 * Runs of so many packs, one after the other, while every three seconds the next of four instances is killed and
 * started again, until so many were. Whoever leads is killed like the others. Each result is checked.
 */
export async function killedRuns(
  packs: number,
  kills: number,
  say: (line: string) => void,
): Promise<KilledRuns> {
  const app = await startChainApp(instances);
  const restarts: (Promise<void> | undefined)[] = [];
  let killed = 0;
  const killSome = async (): Promise<void> => {
    while (killed < kills) {
      await sleep(killEveryMs);
      const victim = app.instances.instances[killed % instances];
      await victim?.kill();
      killed += 1;
      restarts.push(victim?.restart());
    }
  };
  const runs: TimedRun[] = [];
  try {
    const killing = killSome();
    do {
      const run = await timedRun(app, { chunks: packs, packSize: 1 });
      runs.push(run);
      const { packs: counts, terms } = run.view;
      const told = `${counts?.resent} resent, ${terms.length} terms, ${killed} kills so far`;
      say(`  killed: ${packs} packs in ${run.seconds.toFixed(1)} s, ${told}`);
    } while (killed < kills);
    await killing;
    await Promise.all(restarts);
    return { runs, kills, duplicates: duplicatesOf(app) };
  } finally {
    await app.stop();
  }
}

const killEveryMs = 3_000;

const duplicatesOf = ({ events }: RealApp): number =>
  events.filter(
    (one) =>
      one.kind === "log" &&
      one.message.includes('"event":"work-done"') &&
      one.message.includes('"kind":"compute"') &&
      one.message.includes('"outcome":"existed"'),
  ).length;

/** How a run ends whose worker was killed in the middle of one of its last packs. */
export interface Tail {
  /** From the kill until the manifest can be read. */
  readonly seconds: number;
  /** 4 × p95 of a pack + 2 s + two loops. */
  readonly boundS: number;
}

export async function crashTails(times: number): Promise<Tail[]> {
  const app = await startChainApp(3, { LEASEFOLD_LOOP_MS: String(loopMs) });
  try {
    const tails: Tail[] = [];
    while (tails.length < times) tails.push(...(await crashTail(app)));
    return tails;
  } finally {
    await app.stop();
  }
}

const loopMs = 500;
const packMs = 2_000;
/** Three rounds of one for each instance: the kill comes in the last. */
const packs = 9;
const doneBefore = 6;

/** One tail, or none where the run was over too soon. */
async function crashTail(app: RealApp): Promise<Tail[]> {
  const { client } = app;
  const params = { chunks: packs, ms: packMs };
  const { run, uid } = await submit(client, { calculation: "chain", params, packSize: 1 });
  await app.until(run, (view) => (view.packs?.done ?? 0) >= doneBefore);
  const victim = await busyFollower(app, packMs);
  if (victim === undefined) return [];
  await app.instances.instances[victim]?.kill();
  const killedMs = performance.now();
  while ((await readManifest(client, { run, uid }, 1)) === undefined) await sleep(20);
  const seconds = (performance.now() - killedMs) / 1000;
  await app.instances.instances[victim]?.restart();
  const state = (await readState(client, run, uid))?.value;
  const boundS = (4 * p95(state?.durationsMs ?? []) + 2_000 + 2 * loopMs) / 1000;
  return [{ seconds, boundS }];
}
