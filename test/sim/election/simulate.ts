import { type ElectionSettings, electionSettings, fastTakeover } from "../../../src/election/settings.ts";
import type { VirtualWorld } from "../../support/virtualClock.ts";
import { type Storm, storm, strike } from "./mishaps.ts";
import { type Actor, blob, container, type Role, type SimulationResult, stage } from "./stage.ts";

/** What is promised about clocks: natural expiry bears a tenth, early takeover a thousandth of wrong pace. */
const driftOf = { expiry: 0.1, early: 0.001 } as const;
const usual = { breakAfterMs: 4_000 };
const assorted: readonly Partial<ElectionSettings>[] = [
  { breakAfterMs: 0 },
  usual,
  fastTakeover,
  { breakAfterMs: 9_000 },
];

/**
 * One world from one seed: three instances, a bad network, and again and again a fault for whoever leads, or for
 * another; then a quiet time in which somebody has to lead within a bound.
 *
 * Every fifth world waits for natural expiry; one fifth has the settings of a fast takeover, and in another each
 * instance has settings of its own.
 */
export async function simulate(seed: number, forMs = 150_000): Promise<SimulationResult> {
  const early = seed % 5 !== 0;
  const takeoverOf = (draw: () => number): Partial<ElectionSettings> => {
    if (seed % 5 === 3) return assorted[Math.floor(draw() * assorted.length)] ?? usual;
    if (seed % 5 === 2) return fastTakeover;
    return early ? usual : { breakAfterMs: 0 };
  };
  let trouble = 0;
  const casting = (world: VirtualWorld): Role<Storm> => {
    const { random } = world;
    const drift = driftOf[early ? "early" : "expiry"] * (2 * random.number() - 1);
    const settings = electionSettings({
      ...takeoverOf(random.number),
      watching: random.number() < 0.5,
      budgetMs: 45_000,
      functionTimeoutMs: 90_000,
    });
    return {
      weather: storm(world, trouble),
      settings,
      skewMs: (random.number() - 0.5) * 20_000,
      rate: 1 + drift,
      reckless: random.number() < 0.2,
    };
  };
  const play = await stage(seed, casting);
  const { world, storage, checkers, alive, step } = play;
  const { random } = world;
  trouble = 0.01 + random.number() * 0.12;
  const scene = { ...play, container, blob, oldRecords: [] as Readonly<Record<string, string>>[] };
  const leader = (): Actor<Storm> | undefined =>
    alive.find((one) => one.believer() !== undefined && !one.isStopped());

  for (let count = 0; count < 3; count += 1) alive.push(play.start(casting(world)));
  while (world.nowMs() < forMs && checkers.violations.length === 0) {
    await step(() => leader() !== undefined, 20_000);
    await step(() => false, random.number() * random.number() * 6_000);
    if (random.number() < 0.2) {
      const view = await storage.lease(container, blob).view();
      if (view.kind === "found" && view.metadata["record"] !== undefined)
        scene.oldRecords.push(view.metadata);
    }
    const anyone = alive[Math.floor(random.number() * alive.length)] as Actor<Storm>;
    const victim = random.number() < 0.85 ? (leader() ?? anyone) : anyone;
    const before = checkers.claims;
    await strike(victim, scene, Number(victim.name.slice(-1)) % 2 === 0 ? "wall" : "monotonic");
    // Mostly its successor is awaited; otherwise the next fault comes in the middle of the takeover.
    const recovered = (): boolean =>
      victim.believer() !== undefined && !victim.isStopped() && victim.weather.cut === "nothing";
    if (random.number() < 0.75) await step(() => checkers.claims > before || recovered(), 20_000);
  }
  return play.finish();
}
