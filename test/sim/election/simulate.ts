import { electionSettings } from "../../../src/election/settings.ts";
import { memoryStorage } from "../../../src/storage/memory/memoryStorage.ts";
import { virtualWorld } from "../../support/virtualClock.ts";
import { Checkers, type Violation } from "./checkers.ts";
import { names, startInstance } from "./instance.ts";
import { type Actor, type Scene, storm, strike } from "./mishaps.ts";

export interface SimulationResult {
  readonly violations: readonly Violation[];
  readonly claims: number;
  /** Claims after a leader that had not said that it ended. */
  readonly takeovers: number;
  /** Accepted writes of the fenced state. */
  readonly accepted: number;
  /** Of all that storage accepted, and when. */
  readonly digest: string;
}

export const container = names.coordination;
export const blob = "leader";
const tickEveryMs = 3_000;

/** What is promised about clocks: natural expiry bears a tenth, early takeover a thousandth of wrong pace. */
const driftOf = { expiry: 0.1, early: 0.001 } as const;

/**
 * One world from one seed: three instances, a bad network, and again and again a fault for whoever leads, or for
 * another; then a quiet time in which somebody has to lead within a bound.
 */
export async function simulate(seed: number, forMs = 150_000): Promise<SimulationResult> {
  const world = virtualWorld({ seed });
  const { random } = world;
  const early = seed % 5 !== 0;
  const mixed = seed % 5 === 3;
  const trouble = 0.01 + random.number() * 0.12;
  const service = world.clock();
  const storage = memoryStorage({ clock: service, random });
  const checkers = new Checkers(world.nowMs, 15_000);
  const lease = checkers.watchLease(storage.lease(container, blob));
  const blobs = checkers.watchState(storage.blobs);
  await storage.blobs.ensureContainer(names.runs);

  const alive: Actor[] = [];
  const everyone: Actor[] = [];
  let born = 0;
  let calm = false;
  const trusted = (name: string): "wall" | "monotonic" =>
    Number(name.slice(-1)) % 2 === 0 ? "wall" : "monotonic";
  const start = (): Actor => {
    born += 1;
    const drift = driftOf[early ? "early" : "expiry"] * (2 * random.number() - 1);
    const weather = storm(world, trouble);
    weather.calm = calm;
    const settings = electionSettings({
      // In a mixed world each publishes a threshold of its own, and obeys those of the others.
      breakAfterMs: mixed ? (thresholds[Math.floor(random.number() * 4)] ?? 0) : early ? 4_000 : 0,
      watching: random.number() < 0.5,
      budgetMs: 45_000,
      functionTimeoutMs: 90_000,
    });
    const actor: Actor = Object.assign(
      startInstance({
        name: `instance ${born}`,
        world,
        service,
        clock: world.clock({ skewMs: (random.number() - 0.5) * 20_000, rate: 1 + drift }),
        weather,
        lease,
        blobs,
        settings,
        checkers,
        tickEveryMs,
        reckless: random.number() < 0.2,
        onDeath: () => replace(actor),
      }),
      { weather },
    );
    everyone.push(actor);
    return actor;
  };
  const replace = (old: Actor): void => {
    const index = alive.indexOf(old);
    if (index >= 0) alive[index] = start();
  };
  const scene: Scene = { world, storage, checkers, container, blob, oldRecords: [], service, replace };
  const step = (done: () => boolean, limitMs: number): Promise<boolean> =>
    world.until(() => {
      checkers.afterStep();
      return done();
    }, limitMs);
  const leader = (): Actor | undefined =>
    alive.find((one) => one.believer() !== undefined && !one.isStopped());

  alive.push(start(), start(), start());
  while (world.nowMs() < forMs && checkers.violations.length === 0) {
    await step(() => leader() !== undefined, 20_000);
    await step(() => false, random.number() * random.number() * 6_000);
    if (random.number() < 0.2) {
      const view = await storage.lease(container, blob).view();
      if (view.kind === "found" && view.metadata["term"] !== undefined) scene.oldRecords.push(view.metadata);
    }
    const anyone = alive[Math.floor(random.number() * alive.length)] as Actor;
    const victim = random.number() < 0.85 ? (leader() ?? anyone) : anyone;
    const before = checkers.claims;
    await strike(victim, scene, trusted(victim.name));
    // Mostly its successor is awaited; otherwise the next fault comes in the middle of the takeover.
    const recovered = (): boolean =>
      victim.believer() !== undefined && !victim.isStopped() && victim.weather.cut === "nothing";
    if (random.number() < 0.75) await step(() => checkers.claims > before || recovered(), 20_000);
  }

  calm = true;
  for (const one of everyone) {
    one.weather.calm = true;
    one.weather.cut = "nothing";
    one.resume();
  }
  const boundMs = leadsWithinMs(15_000);
  if (!(await step(() => alive.some((one) => one.isAtWork()), boundMs))) {
    checkers.report("somebody leads", `nobody leads ${boundMs} ms after the last fault`);
  }
  for (const one of alive) one.terminate();
  const over = Promise.all(alive.map((one) => one.ended));
  await world.finish(over, 60_000).catch((error: unknown) => {
    checkers.report("ends when told", `an instance does not end when it is asked to: ${String(error)}`);
  });
  const { violations, claims, takeovers, accepted } = checkers;
  return { violations, claims, takeovers, accepted, digest: checkers.digest() };
}

const thresholds = [0, 4_000, 6_000, 9_000];

/** A lease that nobody holds has to run out, two ticks may go by, and a term too low may have to be claimed again. */
export const leadsWithinMs = (leaseMs: number): number => leaseMs + 2 * tickEveryMs * 1.5 + 12_000;
