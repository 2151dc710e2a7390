import { seededRandom } from "../../../support/virtualClock.ts";
import { hourMs, leaderOnly, play, workerOnly } from "../script.ts";
import type { SimulationResult } from "../stage.ts";
import type { Scenario } from "./scenarios.ts";

/** Worlds without faults: a run of packs of a millisecond to four minutes on one to two hundred threads, or a few runs. */

const worlds = 16;
const sharedWorlds = 12;
const hoursMs = 3 * 3_600_000;
const samplesMax = 5;

/** A number between the two, each order of magnitude as likely as any other. */
const drawn = (share: number, from: number, to: number): number => from * (to / from) ** share;

async function calmWorld(seed: number): Promise<SimulationResult> {
  const { number } = seededRandom(seed);
  const packMs = drawn(number(), 1, 240_000);
  const threads = Math.round(drawn(number(), 1, 200));
  const packs = Math.round(Math.min(150, Math.max(20, (hoursMs * threads) / packMs)));
  const chunkMs = (_chunk: number, random: { number(): number }) => packMs * (0.8 + 0.4 * random.number());
  return play({ seed, chunkMs, calm: true }, async (script) => {
    const { world, judge } = script;
    script.patienceMs = hourMs;
    script.start(leaderOnly);
    for (let left = threads; left > 0; left -= 8) script.start({ ...workerOnly, threads: Math.min(left, 8) });
    const startMs = world.nowMs();
    await script.submit({ id: "r", chunks: packs, packSize: 1 });
    await script.untilEnded();
    script.mustBe("complete");
    const what = `${packs} packs of ${Math.round(packMs)} ms on ${threads} threads`;
    const computed = judge.begun.filter(({ task }) => task.kind === "compute").length - samplesMax;
    if (computed > 1.02 * packs + 1)
      judge.report("hardly anything is computed twice", `${what}: ${computed}`);
    const idealMs = (packs * packMs) / threads;
    const tookMs = world.nowMs() - startMs;
    // Planning, the first polls of idle workers, and the last wave.
    const boundMs = 1.05 * idealMs + 2 * 1.2 * packMs + samplesMax * Math.min(1.2 * packMs, 25_000) + 20_000;
    if (tookMs > boundMs)
      judge.report("every run ends in time", `${what}: ${Math.round(tookMs)} ms, not ${Math.round(boundMs)}`);
  });
}

/** Two to twelve runs share the workers, submitted together or one after the other. */
async function sharedWorld(seed: number): Promise<SimulationResult> {
  const { number } = seededRandom(1_000 + seed);
  const packMs = drawn(number(), 100, 10_000);
  const threads = Math.round(drawn(number(), 2, 24));
  const runs = Math.round(drawn(number(), 2, 12));
  const packs = Math.round(drawn(number(), 8, 200));
  const apartMs = number() < 0.5 ? 0 : ((packs * packMs) / threads) * 0.6;
  const chunkMs = (_chunk: number, random: { number(): number }) => packMs * (0.5 + random.number());
  return play({ seed, chunkMs, calm: true }, async (script) => {
    const { world, judge } = script;
    script.patienceMs = hourMs;
    script.start(leaderOnly);
    for (let left = threads; left > 0; left -= 4) script.start({ ...workerOnly, threads: Math.min(left, 4) });
    const ids = Array.from({ length: runs }, (_, run) => `r${run}`);
    for (const id of ids) {
      await script.submit({ id, chunks: packs, packSize: 1 });
      await world.advance(apartMs);
    }
    for (const id of ids)
      await script.until(`${id} is complete`, () => script.run(id)?.state?.phase === "complete");
    const computed = judge.begun.filter(({ task }) => task.kind === "compute").length - runs * samplesMax;
    const what = `${runs} runs of ${packs} packs of ${Math.round(packMs)} ms on ${threads} threads`;
    if (computed > 1.01 * runs * packs)
      judge.report("hardly anything is computed twice", `${what}: ${computed}`);
  });
}

const numbered = (count: number, title: string, play: (seed: number) => Promise<SimulationResult>) =>
  Array.from({ length: count }, (_, world) => [
    `${title}, number ${world + 1}: hardly anything is computed twice`,
    () => play(world + 1),
  ]);

export const calm: Readonly<Record<string, Scenario>> = Object.fromEntries([
  ...numbered(worlds, "a calm world", calmWorld),
  ...numbered(sharedWorlds, "calm runs that share the workers", sharedWorld),
]);
