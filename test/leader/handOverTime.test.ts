import { expect, test } from "vitest";
import { electionSettings, fastTakeover } from "../../src/election/settings.ts";
import { Coordinator } from "../../src/engine/leader/tick.ts";
import { makePollBackoff } from "../../src/host/queueTrigger.ts";
import type { VirtualClock } from "../support/virtualClock.ts";
import { leadInMemory } from "./leadInMemory.ts";

/** Of Azurite on a quiet machine, about. */
const roundTripMs = 8;
const election = {
  usual: electionSettings({ budgetMs: 600_000, watching: true, breakAfterMs: 4_000 }),
  fast: electionSettings({ budgetMs: 600_000, watching: true, ...fastTakeover }),
};

/**
 * Three processes that wait for each other's lease and poll the wake queue every half a second. Embedded instances hear
 * of a wake from the emulator, which is quicker still.
 */
async function handOverMs(seed: number, settings: keyof typeof election): Promise<number> {
  const { world, storage, names, addRun } = leadInMemory();
  const { random } = world;
  for (let draw = 0; draw < seed; draw += 1) random.number();
  await addRun("r");
  const claims: { readonly index: number; readonly atMs: number }[] = [];

  const start = (index: number): AbortController => {
    const clock = world.clock();
    const far = <T extends object>(port: T): T => slowed(port, clock, () => random.number());
    const { blobs, queues } = { blobs: far(storage.blobs), queues: far(storage.queues) };
    const lease: typeof storage.lease = (container, blob) => far(storage.lease(container, blob));
    const contender = new Coordinator(
      {
        ...{ storage: { ...storage, blobs, queues, lease }, names, clock, random, log() {} },
        onElection: ({ kind }) => kind === "claimed" && claims.push({ index, atMs: world.nowMs() }),
      },
      {
        ...{ holder: `node-${index}`, packLimitMs: 300_000, keepDays: 0, election: election[settings] },
        loop: { loopMs: 500, fastLoopMs: 100 },
      },
    );
    const stop = new AbortController();
    const { signal } = stop;
    const tick = (startedBy: "tick" | "wake") =>
      contender.tick({ startedBy, startedAtMonotonicMs: clock.monotonicMs(), stopping: signal });
    const ticks = async (): Promise<void> => {
      for (let waitMs = random.number() * 1_500; !signal.aborted; waitMs = 2_000) {
        await clock.sleep(waitMs, signal);
        void tick("tick");
      }
    };
    const wakes = async (): Promise<void> => {
      const backoff = makePollBackoff(500, random);
      while (!signal.aborted) {
        const messages = await queues.receive(names.wake, { max: 1, visibilityS: 600 });
        for (const { id, popReceipt } of messages)
          void tick("wake").then(() => queues.remove(names.wake, id, popReceipt));
        await clock.sleep(backoff(messages.length > 0), signal);
      }
    };
    void ticks();
    void wakes();
    return stop;
  };

  const stops = [start(0), start(1), start(2)];
  await world.until(() => claims.length > 0, 30_000);
  await world.advance(6_000 + random.number() * 2_000);
  const fromMs = world.nowMs();
  stops[claims[0]?.index ?? 0]?.abort();
  await world.until(() => claims.length > 1, 30_000);
  return (claims[1]?.atMs ?? Number.POSITIVE_INFINITY) - fromMs;
}

/** Each call of the port takes a round trip, give or take a third. */
const slowed = <T extends object>(port: T, clock: VirtualClock, draw: () => number): T =>
  new Proxy(port, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== "function") return value;
      return async (...given: unknown[]) => {
        await clock.sleep(roundTripMs * (0.7 + 0.6 * draw()));
        return Reflect.apply(value, target, given);
      };
    },
  });

test.each([
  ["usual", 150],
  ["fast", 120],
] as const)(
  "with %s timings a hand-over among three takes at most %i ms at the median",
  {},
  async (settings, limitMs) => {
    const all: number[] = [];
    for (let seed = 1; seed <= 31; seed += 1) all.push(await handOverMs(seed, settings));
    const median = all.sort((a, b) => a - b)[15] as number;
    // Two round trips of the leader and five of its successor.
    expect(median).toBeGreaterThan(7 * roundTripMs);
    expect(median).toBeLessThan(limitMs);
  },
);
