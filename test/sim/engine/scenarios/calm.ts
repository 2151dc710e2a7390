import { seededRandom } from "../../../support/virtualClock.ts";
import { leaderOnly, play, workerOnly } from "../script.ts";
import type { SimulationResult } from "../stage.ts";
import type { Scenario } from "./scenarios.ts";

/** Worlds without faults: packs of a millisecond to four minutes on one to two hundred threads. */

const worlds = 16;
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

export const calm: Readonly<Record<string, Scenario>> = Object.fromEntries(
  Array.from({ length: worlds }, (_, world) => [
    `a calm world, number ${world + 1}: hardly anything is computed twice`,
    () => calmWorld(world + 1),
  ]),
);
