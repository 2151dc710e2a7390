import type { Clock } from "../../src/engine/storage/ports.ts";
import type { Sender } from "./network.ts";
import type { VirtualClock, VirtualWorld } from "./virtualClock.ts";

/** A process as the operating system sees it: it runs, is stopped, or is dead. */
export interface SimProcess extends Sender {
  readonly clock: VirtualClock;
  isStopped(): boolean;
  /** In true time; undefined while it lives. */
  diedMs(): number | undefined;
  /** SIGCONT. */
  resume(): void;
  /** Resolves when it is killed. */
  readonly death: Promise<void>;
}

/** `service` counts the time that a process is stopped for. */
export function simProcess(world: VirtualWorld, service: Clock, name: string, skewMs = 0): SimProcess {
  const clock = world.clock({ skewMs: skewMs + (world.random.number() - 0.5) * 10_000 });
  let diedMs: number | undefined;
  let stopped = false;
  let tellDeath = (): void => {};
  const death = new Promise<void>((resolve) => {
    tellDeath = resolve;
  });
  const tell: SimProcess["tell"] = (event, fields) => world.tell(name, event, fields);
  const resume = (): void => {
    if (stopped && diedMs === undefined) tell("process resumed");
    stopped = false;
    if (diedMs === undefined) clock.resume();
  };
  return {
    ...{ clock, death, resume, tell },
    isDead: () => diedMs !== undefined,
    diedMs: () => diedMs,
    isStopped: () => stopped,
    die() {
      if (diedMs === undefined) tell("process killed");
      diedMs ??= world.nowMs();
      clock.crash();
      tellDeath();
    },
    stopFor(ms) {
      if (stopped || diedMs !== undefined) return;
      stopped = true;
      tell("process stopped", { ms: Math.round(ms) });
      clock.pause();
      service.after(ms, resume);
    },
  };
}
