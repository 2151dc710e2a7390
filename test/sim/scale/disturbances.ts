import { submit } from "../../../src/engine/client/submit.ts";
import { StorageError } from "../../../src/engine/model/errors.ts";
import { isFinal } from "../../../src/engine/model/state.ts";
import { durationsOf, makespanMs, type Shape, sumOf } from "../../support/durations.ts";
import { simNames as names, requestOf } from "../../support/engineWorld.ts";
import type { DoomedTask } from "../../support/rangesCode.ts";
import { seededRandom } from "../../support/virtualClock.ts";
import { clearQueue } from "../engine/hostile.ts";
import { platform } from "../engine/scenarios/endless.ts";
import type { Script } from "../engine/script.ts";
import { scriptOn } from "../engine/script.ts";
import { stage } from "../engine/stage.ts";
import { type Disturbed, type DisturbedResult, runDisturbed } from "./disturbed.ts";
import { runScale } from "./runScale.ts";

/** What happened to runs, and what of it must not take long: each by its figures. */
interface Figure {
  readonly took: string;
  readonly bound: string;
  readonly holds: boolean;
}

/** `quick`: small enough for every test run. */
export interface Disturbance {
  readonly quick?: boolean;
  figure(): Promise<Figure>;
}

const s = (ms: number): string => `${(ms / 1_000).toFixed(1)} s`;
const times = (factor: number): string => `${factor.toFixed(3)} ×`;

/** No pack comes near its time limit. */
const packsOf = (shape: Shape, packs: number, paceMs: number, seed = 1): readonly number[] =>
  durationsOf(shape, { packs, paceMs, maxMs: 200_000 }, seededRandom(seed));

/** Nothing dies: what it takes and costs against the same without a resend. */
function tail(shape: Shape, paceMs: number, size: { packs: number; instances: number }) {
  return async (): Promise<Figure> => {
    const durationsMs = packsOf(shape, size.packs, paceMs);
    const { longestMs, spent, begun, violations } = await runDisturbed({
      instances: size.instances,
      runs: { r: durationsMs },
    });
    // Planning, and the first polls of workers.
    const idealMs = makespanMs(durationsMs, 2 * size.instances) + startMs;
    return {
      took: `${s(longestMs)}, thread time ${times(spent)}, packs begun ${times(begun)}${told(violations)}`,
      bound: `1.1 × ${s(idealMs)}, thread time 1.1 ×`,
      holds: longestMs <= 1.1 * idealMs && spent <= 1.1 && violations.length === 0,
    };
  };
}

const startMs = 3_000;

const told = (violations: readonly string[]): string => (violations.length === 0 ? "" : `; ${violations[0]}`);

/** With what happens to it, and without, or with something harmless instead. */
function beside(one: Disturbed, moreMs: number, harmless?: Disturbed["disturb"]): () => Promise<Figure> {
  return async () => {
    const { disturb: _, ...calm } = one;
    const undisturbed = await runDisturbed(harmless === undefined ? calm : { ...calm, disturb: harmless });
    const disturbed = await runDisturbed(one);
    return compared(disturbed, undisturbed, moreMs);
  };
}

function compared(disturbed: DisturbedResult, undisturbed: DisturbedResult, moreMs: number): Figure {
  const { tookMs, spent, died, violations } = disturbed;
  const late = Object.entries(tookMs).map(([id, ms]) => ms - (undisturbed.tookMs[id] ?? 0));
  const latest = Math.max(...late);
  return {
    took: `${s(disturbed.longestMs)}, undisturbed ${s(undisturbed.longestMs)}, at most ${s(latest)} more; thread time ${times(spent)}, of it died ${times(died)}${told(violations)}`,
    bound: `${s(moreMs)} more`,
    holds: latest <= moreMs && violations.length === 0,
  };
}

const cleared =
  (afterMs: number): NonNullable<Disturbed["disturb"]> =>
  async ({ engine }, sleep) => {
    await sleep(afterMs);
    await clearQueue(engine.storage, names.packs);
  };

/** Three small runs a second, until the runs that count have ended. */
const stream = async (script: Script, sleep: (ms: number) => Promise<void>): Promise<void> => {
  for (let count = 0; ; count += 1) {
    void submit(script.engine.client, requestOf({ id: `small-${count}`, chunks: 3, packSize: 1 }));
    await sleep(333);
  }
};

/** A run beside that no leader can record anything of. */
const backoff = async (script: Script): Promise<void> => {
  const request = requestOf({ id: "stuck", chunks: 300, packSize: 1 });
  await submit(script.engine.client, request);
  script.hold = ({ op, args }) => {
    const isStuck = op === "blobs.replace" && String(args[1]).startsWith("stuck/");
    return isStuck && script.run("stuck")?.state?.phase === "computing"
      ? Promise.reject(new StorageError("refused", "LeaseIdMissing", 412, "leased by hand"))
      : undefined;
  };
};

/** A third of the workers goes, with the packs that they hold or after them. */
const loses =
  (how: "kill" | "terminate", company: typeof stream, afterMs: number): NonNullable<Disturbed["disturb"]> =>
  async (script, sleep) => {
    void company(script, sleep);
    await sleep(afterMs);
    const workers = script.engine.instances.slice(1);
    for (const one of workers.slice(0, workers.length / 3)) one[how]();
  };

const losing = (company: typeof stream, otherMs: number, afterMs: number): Disturbance["figure"] =>
  beside(
    {
      instances: 6,
      otherMs,
      runs: { r: packsOf({ kind: "even" }, 240, 2_000) },
      disturb: loses("kill", company, afterMs),
    },
    20_000,
    loses("terminate", company, afterMs),
  );

/** One of three instances is killed or stopped again and again; a killed one is replaced as the supervisor does it. */
const struck =
  (seed: number): NonNullable<Disturbed["disturb"]> =>
  async ({ engine, start }, sleep) => {
    const { number } = seededRandom(seed);
    for (;;) {
      await sleep(1_500 + number() * 3_500);
      const alive = engine.instances.filter((one) => !one.isDead());
      const victim = alive[Math.floor(number() * alive.length)];
      if (number() < 1 / 3) {
        victim?.stopFor(500 + number() * 19_500);
        continue;
      }
      victim?.kill();
      const afterMs = 500 + number() * 1_500;
      engine.client.clock.after(afterMs, () => void start({ breakAfterMs: 4_000, threads: 2 }));
    }
  };

const kills = (seed: number, packs: number, paceMs: number): Disturbance["figure"] =>
  beside(
    {
      seed,
      instances: 3,
      leading: true,
      runs: {
        a: packsOf({ kind: "even" }, packs, paceMs, seed),
        b: packsOf({ kind: "even" }, packs, paceMs, seed + 1),
        c: packsOf({ kind: "even" }, packs, paceMs, seed + 2),
      },
      disturb: struck(seed),
    },
    60_000,
  );

/** One of four instances is killed every three seconds, in turn, until 30 were, and is there again two seconds later. */
const inTurn: NonNullable<Disturbed["disturb"]> = async ({ engine, start }, sleep) => {
  const slots = engine.instances.slice(0, 4);
  for (let kill = 0; kill < 30; kill += 1) {
    await sleep(3_000);
    const slot = kill % slots.length;
    slots[slot]?.kill();
    engine.client.clock.after(2_000, () => (slots[slot] = start({ breakAfterMs: 4_000, threads: 2 })));
  }
};

/** As `npm run bench -- engine` does it with real processes. What one order of kills costs is chance (16 to 46 s): the mean of four. */
const killedInTurn = (packMs: number) => async (): Promise<Figure> => {
  const one: Disturbed = {
    instances: 4,
    leading: true,
    runs: { r: packsOf({ kind: "even" }, 2_000, packMs) },
  };
  const undisturbed = await runDisturbed(one);
  const disturbed: DisturbedResult[] = [];
  for (let seed = 1; seed <= 4; seed += 1)
    disturbed.push(await runDisturbed({ ...one, seed, disturb: inTurn }));
  const tookMs = disturbed.map(({ longestMs }) => longestMs);
  const moreMs = sumOf(tookMs) / tookMs.length - undisturbed.longestMs;
  const violations = disturbed.flatMap((each) => each.violations);
  return {
    took: `${tookMs.map(s).join(", ")}, undisturbed ${s(undisturbed.longestMs)}${told(violations)}`,
    bound: `${s(35_000)} more at the mean`,
    holds: moreMs <= 35_000 && violations.length === 0,
  };
};

/** Calm worlds of packs of 10 ms to a minute: what is computed twice of them all. */
const calmSum = async (): Promise<Figure> => {
  let [begun, packs, of] = [0, 0, ""];
  for (let seed = 1; seed <= 12; seed += 1) {
    const { number } = seededRandom(seed);
    const paceMs = 10 * 6_000 ** number();
    const count = 50 + Math.round(number() * 200);
    const instances = 1 + Math.round(number() * 20);
    const one = await runDisturbed({
      seed,
      instances,
      runs: { r: packsOf({ kind: "even" }, count, paceMs, seed) },
    });
    const twice = Math.round((one.begun - 1) * count);
    if (twice > 0)
      of += `; ${twice} of ${count} packs of ${Math.round(paceMs)} ms on ${2 * instances} threads`;
    begun += one.begun * count;
    packs += count;
  }
  return {
    took: `packs begun ${times(begun / packs)}${of}`,
    bound: "1.005 ×",
    holds: begun / packs <= 1.005,
  };
};

/** More workers than the first window has packs for: nobody knows how many there are until the first outcomes come after 5 s. */
const wide = async (): Promise<Figure> => {
  const [packs, packMs, workers] = [10_000, 5_000, 1_000];
  const { wallMs, computed } = await runScale({ packs, packMs, workers });
  const idealMs = (packs * packMs) / workers;
  return {
    took: `${s(wallMs)}, packs begun ${times(computed / packs)}`,
    bound: `1.3 × ${s(idealMs)}`,
    holds: wallMs <= 1.3 * idealMs,
  };
};

/** From the begin of work that ends each process which begins it, until its run has failed. */
const deadly = (packMs: number) => async (): Promise<Figure> => {
  const script = scriptOn(stage({ seed: 5, chunkMs: () => packMs, calm: true }));
  const { world, judge, engine, run } = script;
  const dies = ({ kind, from }: DoomedTask): boolean => kind === "compute" && from === 20;
  script.broken.doom = (task) => (dies(task) ? "kills" : undefined);
  platform(script, 4, { breakAfterMs: 4_000 });
  await script.submit({ id: "r", chunks: 60, packSize: 1 });
  await world.until(() => isFinal(run()?.state?.phase ?? "planning"), 3 * 3_600_000);
  const first = judge.begun.find(({ task, handling }) => dies(task) && handling.message?.kind === "compute");
  const tookMs = world.nowMs() - (first?.atMs ?? 0);
  const dead = engine.instances.filter((one) => one.isDead()).length;
  // Work that must be alone waits for the packs that run in its process, three times.
  const boundMs = 120_000 + 3 * packMs;
  return {
    took: `${s(tookMs)}, ${dead} processes died, ${run()?.state?.error?.message ?? run()?.state?.phase}`,
    bound: `${s(boundMs)}, 6 processes`,
    holds: tookMs <= boundMs && dead <= 6 && run()?.state?.phase === "failed",
  };
};

const tailOf25: Shape = { kind: "bimodal", oneIn: 25, times: 60 };
const tailOf50: Shape = { kind: "bimodal", oneIn: 50, times: 60 };
const large = { packs: 3_000, instances: 20 };
const small = { packs: 400, instances: 4 };

export const disturbances: Readonly<Record<string, Disturbance>> = {
  "one pack in 25 takes 60 s, the others 1 s: 3,000 packs on 40 threads": {
    figure: tail(tailOf25, 1_000, large),
  },
  "one pack in 50 takes 120 s, the others 2 s: 3,000 packs on 40 threads": {
    figure: tail(tailOf50, 2_000, large),
  },
  "lognormal packs, sigma 1, around 1 s: 3,000 on 40 threads": {
    figure: tail({ kind: "lognormal", sigma: 1 }, 1_000, large),
  },
  "lognormal packs, sigma 2, around 1 s: 3,000 on 40 threads": {
    figure: tail({ kind: "lognormal", sigma: 2 }, 1_000, large),
  },
  "one pack in 25 takes 60 s, the others 1 s: 400 packs on 8 threads": {
    quick: true,
    figure: tail(tailOf25, 1_000, small),
  },
  "lognormal packs, sigma 2, around 0.2 s: 400 on 8 threads": {
    quick: true,
    figure: tail({ kind: "lognormal", sigma: 2 }, 200, small),
  },

  "the queue is cleared at 33 s of 3,000 packs of 1 s on 40 threads": {
    figure: beside(
      { instances: 20, runs: { r: packsOf({ kind: "even" }, 3_000, 1_000) }, disturb: cleared(33_000) },
      60_000,
    ),
  },
  "the queue is cleared at 33 s of 600 packs of 8 s on 40 threads": {
    figure: beside(
      { instances: 20, runs: { r: packsOf({ kind: "even" }, 600, 8_000) }, disturb: cleared(33_000) },
      60_000,
    ),
  },
  "the queue is cleared at 20 s of 300 packs of 1 s on 8 threads": {
    quick: true,
    figure: beside(
      { instances: 4, runs: { r: packsOf({ kind: "even" }, 300, 1_000) }, disturb: cleared(20_000) },
      60_000,
    ),
  },

  "a pack of 1 s ends each process that begins it": { quick: true, figure: deadly(1_000) },
  "a pack of 20 s ends each process that begins it": { figure: deadly(20_000) },
  "10,000 packs of 5 s on 1,000 workers": { figure: wide },
  "twelve calm worlds of packs of 10 ms to a minute": { figure: calmSum },

  "a third of the workers dies beside three small runs a second": { figure: losing(stream, 100, 45_000) },
  "a third of the workers dies beside a run in backoff": {
    quick: true,
    figure: losing(backoff, 1_000, 60_000),
  },

  "2,000 packs of 20 ms while one of four instances is killed every 3 s": {
    quick: true,
    figure: killedInTurn(20),
  },
  ...Object.fromEntries(
    [1, 2, 3, 4].map((seed) => [
      `three runs of 150 packs of 1 s while one of three instances is killed or stopped every 1.5 to 5 s, seed ${seed}`,
      { figure: kills(seed, 150, 1_000) },
    ]),
  ),
  ...Object.fromEntries(
    [1, 2].map((seed) => [
      `three runs of 600 packs of 0.1 s while one of three instances is killed or stopped every 1.5 to 5 s, seed ${seed}`,
      { figure: kills(10 + seed, 600, 100) },
    ]),
  ),
  ...Object.fromEntries(
    [1, 2].map((seed) => [
      `three runs of 9 packs of 1 s while one of three instances is killed or stopped every 1.5 to 5 s, seed ${seed}`,
      { quick: true, figure: kills(20 + seed, 9, 1_000) },
    ]),
  ),
};
