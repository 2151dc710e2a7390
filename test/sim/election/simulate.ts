import { electionSettings } from "../../../src/election/settings.ts";
import { memoryStorage } from "../../../src/storage/memory/memoryStorage.ts";
import { virtualWorld } from "../../support/virtualClock.ts";
import { Checkers } from "./checkers.ts";
import { type Instance, startInstance } from "./instance.ts";
import { network, type Weather } from "./network.ts";

export interface SimulationResult {
  readonly violations: readonly string[];
  readonly claims: number;
  readonly accepted: number;
}

const container = "sim-coordination";
const blob = "leader";

/**
 * One world from one seed: three instances, a bad network, and now and then a stop, a crash, a SIGTERM or an
 * operator, for two minutes; then a quiet time in which somebody has to lead.
 */
export async function simulate(seed: number): Promise<SimulationResult> {
  const world = virtualWorld({ seed });
  const { random } = world;
  const early = seed % 2 === 0;
  const watching = seed % 3 === 0;
  const reckless = seed % 5 === 0;
  const settings = electionSettings({
    breakAfterMs: early ? 4_000 : 0,
    watching,
    budgetMs: 45_000,
    functionTimeoutMs: 90_000,
  });
  const weather: Weather = { trouble: 0.02 + random.number() * 0.15 };
  const serviceClock = world.clock();
  const storage = memoryStorage({ clock: serviceClock, random });
  const checkers = new Checkers();
  const lease = checkers.watch(storage.lease(container, blob));
  let born = 0;
  const start = (): Instance => {
    const clock = world.clock({ skewMs: (random.number() - 0.5) * 20_000 });
    const carry = network(serviceClock, clock, random, weather);
    born += 1;
    return startInstance({
      name: `instance ${born}`,
      world,
      clock,
      carry,
      lease,
      settings,
      checkers,
      tickEveryMs: 4_000,
      reckless: reckless && born === 1,
    });
  };
  const alive = [start(), start(), start()];

  const mishap = async (): Promise<void> => {
    const index = Math.floor(random.number() * alive.length);
    const victim = alive[index] as Instance;
    const draw = random.number();
    if (draw < 0.35) {
      victim.clock.pause();
      serviceClock.after(300 + random.number() * 25_000, () => victim.clock.resume());
    } else if (draw < 0.6) {
      victim.clock.crash();
      alive[index] = start();
    } else if (draw < 0.75) {
      victim.stop();
      alive[index] = start();
    } else if (draw < 0.85) {
      victim.clock.jumpWall((random.number() - 0.5) * 7_200_000);
    } else if (storage.operator.blobNames(container).includes(blob)) {
      const lostRecord = draw > 0.93;
      checkers.operatorActed(lostRecord);
      if (draw > 0.97) storage.operator.deleteContainer(container);
      else if (lostRecord) storage.operator.deleteBlob(container, blob);
      else
        await storage
          .lease(container, blob)
          .breakNow()
          .catch(() => {});
    }
  };
  for (const endMs = 120_000; world.nowMs() < endMs; ) {
    await world.advance(1_000 + random.number() * 12_000);
    await mishap();
  }

  weather.trouble = 0;
  for (const one of alive) one.clock.resume();
  const boundMs = settings.leaseDurationS * 1_000 + 2 * 4_000 * 1.5 + 12_000;
  const leads = () => alive.some((one) => (one.leadership?.remainingMs() ?? 0) > 0);
  const violations = checkers.violations;
  if (!(await world.until(leads, boundMs)))
    violations.push(`nobody leads ${boundMs} ms after the last fault`);

  for (const one of alive) one.stop();
  await world.finish(Promise.all(alive.map((one) => one.ended)), 60_000).catch((error: unknown) => {
    violations.push(`an instance does not end when asked to: ${String(error)}`);
  });
  return { violations, claims: checkers.claims, accepted: checkers.accepted };
}
