import type { Leadership } from "../../../src/election/leadership.ts";
import { race } from "../../../src/election/race.ts";
import type { ElectionSettings } from "../../../src/election/settings.ts";
import type { LeaseStore } from "../../../src/storage/ports.ts";
import type { VirtualClock, VirtualWorld } from "../../support/virtualClock.ts";
import type { Checkers } from "./checkers.ts";
import { type Carry, leaseOver } from "./network.ts";

export interface InstanceParts {
  readonly name: string;
  readonly world: VirtualWorld;
  readonly clock: VirtualClock;
  readonly carry: Carry;
  readonly lease: LeaseStore;
  readonly settings: ElectionSettings;
  readonly checkers: Checkers;
  readonly tickEveryMs: number;
  /** Never asks whether it still leads: only the fence stands between it and the state. */
  readonly reckless: boolean;
}

/** One simulated process: it races at each tick, and writes the fenced state while it leads. */
export interface Instance {
  readonly name: string;
  readonly clock: VirtualClock;
  leadership: Leadership | undefined;
  /** SIGTERM: drain, release, race no more. */
  stop(): void;
  readonly ended: Promise<void>;
}

export function startInstance(parts: InstanceParts): Instance {
  const { name, clock, world, settings, checkers } = parts;
  const stopping = new AbortController();
  const lease = leaseOver(parts.carry, parts.lease);
  let aboveTerm = 0;

  async function lead(leadership: Leadership): Promise<void> {
    instance.leadership = leadership;
    checkers.leaderships.set(`${name} in term ${leadership.term}`, leadership);
    const { term, termid, signal, lost } = leadership;
    while (!signal.aborted && (world.random.number() > 0.02 || parts.reckless)) {
      const seen = await carried(() => checkers.state.read(), lost);
      if (seen !== undefined) {
        if (seen.termid !== termid && seen.term >= term) {
          aboveTerm = seen.term; // The record was lost: claim again above it.
          break;
        }
        if (parts.reckless || leadership.remainingMs() > 0) {
          await carried(() => checkers.state.write(seen.etag, { term, termid }), lost);
        }
      }
      await clock.sleep(200 + world.random.number() * 1_500, parts.reckless ? undefined : signal);
    }
    instance.leadership = undefined;
  }

  /** `undefined`: the answer is unknown, or nobody waits for it any more. */
  async function carried<T>(call: () => T, giveUp: AbortSignal): Promise<T | undefined> {
    const done = new AbortController();
    const answer = parts.carry(call).then(
      (value) => value,
      () => undefined,
    );
    const cut = clock.sleep(2_000, AbortSignal.any([giveUp, done.signal])).then(() => undefined);
    const first = await Promise.race([answer, cut]);
    done.abort();
    return first;
  }

  async function live(): Promise<void> {
    while (!stopping.signal.aborted) {
      await clock.sleep(parts.tickEveryMs * (0.5 + world.random.number()), stopping.signal);
      await race({ lease, clock, random: world.random }, settings, {
        holder: name,
        startedAtMonotonicMs: clock.monotonicMs(),
        startedBy: world.random.number() < 0.3 ? "wake" : "tick",
        aboveTerm,
        worthLeading: async () => world.random.number() < 0.9,
        lead,
        stopping: stopping.signal,
      });
    }
  }

  const instance: Instance = {
    name,
    clock,
    leadership: undefined,
    stop: () => stopping.abort(),
    ended: Promise.resolve(),
  };
  return Object.assign(instance, { ended: live() });
}
