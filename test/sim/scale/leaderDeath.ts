import { parseSchedule, startTimer } from "../../../src/host/timerTrigger.ts";
import { platformTimer } from "../../support/platformTimer.ts";
import { type VirtualClock, virtualWorld } from "../../support/virtualClock.ts";
import { azureScaling } from "./platform.ts";

/**
 * A leader dies on Flex Consumption: how long until an instance leads again. Timers are the embedded host's, with the lease
 * and the status that Azure keeps of each; each is a function of its own, so it has instances of its own (host#11943 shows
 * three). The platform starts one where a timer is due and none is there, and takes it away when it had nothing to do for
 * 30 s (host#10706). The dead-man's wake is visible six seconds after the death.
 */
export interface DeathCase {
  /** Timer functions of the app, their schedules evenly apart. */
  readonly timers: number;
  /** Always-ready instances of `wake`. */
  readonly ready: number;
  /** What the leader was started by: it dies with the instance of that function. */
  readonly ledBy: "tick" | "wake";
  readonly seed: number;
}

const minuteMs = 60_000;
const idleMs = 30_000;
const wakeVisibleMs = 6_000;
/** From here on a contender deposes the silent leader at its first poll (`breakAfterMs`). */
const staleMs = 4_000;
const pollMs = 2_000;

/** Ms from the death of the leader until the next one leads. */
export async function leaderlessMs({ timers, ready, ledBy, seed }: DeathCase): Promise<number> {
  const world = virtualWorld({ seed });
  const { number } = world.random;
  const coldMs = () => azureScaling.coldStartMs * (0.75 + number() / 2);
  const service = world.clock();
  /** Instances that are there no more, whatever ended them. */
  const gone = new Set<VirtualClock>();
  let leader: VirtualClock | undefined;
  let diedMs: number | undefined;
  let ledMs: number | undefined;

  /** An invocation on an instance: it leads where nobody does, and for as long as its process lives. */
  const invoked = async (clock: VirtualClock): Promise<void> => {
    if (diedMs === undefined && leader !== undefined) return void (await clock.sleep(1_000));
    if (diedMs === undefined) leader = clock;
    else ledMs ??= Math.max(world.nowMs(), diedMs + staleMs);
    await clock.sleep(60 * minuteMs);
  };
  for (let index = 0; index < timers; index += 1) {
    const store = platformTimer(service);
    const second = Math.round((60 / timers) * index);
    let there: VirtualClock | undefined;
    const start = (): void => {
      if (there !== undefined && !gone.has(there)) return;
      const clock = world.clock();
      there = clock;
      service.after(coldMs(), () => {
        let last = clock.monotonicMs();
        let running = false;
        const listener = startTimer({
          ...{ schedule: parseSchedule(`${second} * * * * *`), clock, store: store(clock) },
          async invoke() {
            running = true;
            if (ledBy === "tick" || leader !== undefined) await invoked(clock);
            running = false;
            last = clock.monotonicMs();
          },
        });
        const leave = (): void => {
          const restMs = last + idleMs - clock.monotonicMs();
          if (running || restMs > 0) return void clock.after(Math.max(1_000, restMs), leave);
          gone.add(clock);
          void listener.stop();
        };
        leave();
      });
    };
    const due = (): void => {
      start();
      service.after(minuteMs, due);
    };
    service.after(second * 1_000, due);
  }
  if (ledBy === "wake") void invoked(world.clock());
  await world.advance(3 * minuteMs + number() * minuteMs);
  if (leader === undefined) throw new Error("nobody led");

  leader.crash();
  gone.add(leader);
  diedMs = world.nowMs();
  // Another instance of `wake` hears the message; else the platform starts one at its next decision.
  const others = ready - (ledBy === "wake" ? 1 : 0);
  const heardMs = others > 0 ? number() * pollMs : number() * azureScaling.decideEveryMs + coldMs();
  service.after(wakeVisibleMs + heardMs, () => void invoked(world.clock()));
  await world.until(() => ledMs !== undefined, 10 * minuteMs);
  return (ledMs ?? Number.NaN) - diedMs;
}
