import type { ElectionSettings } from "../../../src/election/settings.ts";
import { type MemoryStorage, memoryStorage } from "../../../src/engine/storage/memory/memoryStorage.ts";
import type { Weather } from "../../support/network.ts";
import { type VirtualClock, type VirtualWorld, virtualWorld } from "../../support/virtualClock.ts";
import { Checkers, type Violation } from "./checkers.ts";
import { type Instance, names, startInstance } from "./instance.ts";

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
const leaseMs = 15_000;

/** A lease that nobody holds has to run out, two ticks may go by, and a term too low may have to be claimed again. */
const leadsWithinMs = leaseMs + 2 * tickEveryMs * 1.5 + 12_000;

export type Actor<W extends Weather = Weather> = Instance & { readonly weather: W };

/** One world with its storage, its checkers and whoever acts in it. */
export interface Stage<W extends Weather> {
  readonly world: VirtualWorld;
  readonly storage: MemoryStorage;
  readonly service: VirtualClock;
  readonly checkers: Checkers;
  /** Those that have not died; a dead one's place is taken by whom `casting` gives. */
  readonly alive: Actor<W>[];
  start(role: Role<W>): Actor<W>;
  replace(old: Actor<W>): void;
  /** Lets time pass with a look by the checkers after each step; gives whether `done` came to hold. */
  step(done: () => boolean, limitMs: number): Promise<boolean>;
  /** Faults stop: somebody has to lead within the bound, and everyone to end when told. */
  finish(): Promise<SimulationResult>;
}

export interface Role<W extends Weather> {
  readonly weather: W;
  readonly settings: ElectionSettings;
  readonly skewMs: number;
  readonly rate: number;
  readonly reckless: boolean;
  readonly firstTickMs?: number;
}

/** `casting` makes the role of whoever takes the place of one that died; not asked for where a role is given. */
export async function stage<W extends Weather>(
  seed: number,
  casting: (world: VirtualWorld) => Role<W>,
): Promise<Stage<W>> {
  const world = virtualWorld({ seed });
  const service = world.clock();
  const storage = memoryStorage({ clock: service, random: world.random });
  const checkers = new Checkers(world, leaseMs);
  const lease = checkers.watchLease(storage.lease(container, blob));
  const blobs = checkers.watchState(storage.blobs);
  await storage.blobs.ensureContainer(names.runs);
  const alive: Actor<W>[] = [];
  const everyone: Actor<W>[] = [];

  const start = (role: Role<W>): Actor<W> => {
    const actor: Actor<W> = Object.assign(
      startInstance({
        ...role,
        name: `instance ${everyone.length + 1}`,
        clock: world.clock(role),
        onDeath: () => replace(actor),
        ...{ world, service, lease, blobs, checkers, tickEveryMs },
      }),
      { weather: role.weather },
    );
    everyone.push(actor);
    return actor;
  };
  const replace = (old: Actor<W>): void => {
    const index = alive.indexOf(old);
    if (index >= 0) alive[index] = start(casting(world));
  };
  const step = (done: () => boolean, limitMs: number): Promise<boolean> =>
    world.until(() => {
      checkers.afterStep();
      return done();
    }, limitMs);

  return {
    ...{ world, storage, service, checkers, alive, start, replace, step },
    async finish() {
      for (const one of everyone) {
        one.weather.calm = true;
        one.resume();
      }
      if (!(await step(() => alive.some((one) => one.isAtWork()), leadsWithinMs))) {
        checkers.report("somebody leads", `nobody leads ${leadsWithinMs} ms after the last fault`);
      }
      for (const one of alive) one.terminate();
      await world.finish(Promise.all(alive.map((one) => one.ended)), 60_000).catch((error: unknown) => {
        checkers.report("ends when told", `an instance does not end when it is asked to: ${String(error)}`);
      });
      const { violations, claims, takeovers, accepted } = checkers;
      return { violations, claims, takeovers, accepted, digest: checkers.digest() };
    },
  };
}
