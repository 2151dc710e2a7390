import type { Clock, Random } from "../../src/engine/storage/ports.ts";
import { sooner, type Timer, type TimerHeap, timerHeap } from "./timerHeap.ts";
import { type TraceFields, traces } from "./trace.ts";

/**
 * Virtual time for tests: one world, one clock for each simulated process, one seed.
 *
 * The world moves only when it is told to. It fires one timer at a time, the earliest first and equal ones in
 * an order drawn from the seed, and after each lets every promise that can settle do so. A run is therefore
 * repeatable from its seed, as long as the code under test waits for nothing but promises and these clocks:
 * real I/O, real timers and thread pools are not waited for.
 */
export interface VirtualWorld {
  /** True time in ms since the world began; the service's clock in most tests. */
  nowMs(): number;
  /** A clock for one process, or for the service. */
  clock(options?: VirtualClockOptions): VirtualClock;
  /** All draws of the world come from here; the same seed gives the same draws. */
  readonly random: Random;
  /** Tells whoever replays the world what happens in it; see `trace.ts`. Without one it does nothing. */
  tell(who: string, event: string, fields?: TraceFields): void;
  /** Lets this much time pass. */
  advance(ms: number): Promise<void>;
  /** Lets time pass until `done()` holds, at most `limitMs`; gives whether it did. */
  until(done: () => boolean, limitMs: number): Promise<boolean>;
  /** Lets time pass until the promise settles and gives its value; throws when it has not after `limitMs`. */
  finish<T>(promise: Promise<T>, limitMs?: number): Promise<T>;
}

interface VirtualClockOptions {
  /** Wall clock minus true time, in ms. */
  readonly skewMs?: number;
  /** Local ms per true ms. Default 1. */
  readonly rate?: number;
}

export interface VirtualClock extends Clock {
  /** SIGSTOP: no timer of this clock fires, its time goes on. */
  pause(): void;
  /** SIGCONT: timers that came due meanwhile fire now, in the order they were due. */
  resume(): void;
  /** SIGKILL: nothing that waits on this clock ever goes on. */
  crash(): void;
  /** Sets the wall clock forward, or back with a negative number. */
  jumpWall(ms: number): void;
  /** The monotonic clock stands still for this long, as on a suspended machine; the wall clock goes on. */
  loseMonotonic(ms: number): void;
}

export const startWallMs = Date.UTC(2030, 0, 1);

export function virtualWorld(options: { readonly seed?: number } = {}): VirtualWorld {
  const random = seededRandom(options.seed ?? 1);
  const trace = traces.getStore();
  const clocks: { readonly timers: TimerHeap; stopped: boolean }[] = [];
  const settle = settling();
  let nowMs = 0;

  const next = (): { readonly timer: Timer; readonly timers: TimerHeap } | undefined => {
    let first: { readonly timer: Timer; readonly timers: TimerHeap } | undefined;
    for (const { timers, stopped } of clocks) {
      const timer = stopped ? undefined : timers.first();
      if (timer !== undefined && (first === undefined || sooner(timer, first.timer)))
        first = { timer, timers };
    }
    return first;
  };
  const until = async (done: () => boolean, limitMs: number): Promise<boolean> => {
    const endMs = nowMs + limitMs;
    for (;;) {
      await settle();
      if (done()) return true;
      const coming = next();
      if (coming === undefined || coming.timer.dueMs > endMs) {
        nowMs = Math.max(nowMs, endMs);
        return false;
      }
      nowMs = Math.max(nowMs, coming.timer.dueMs);
      coming.timers.drop(coming.timer);
      coming.timer.fire();
    }
  };

  return {
    nowMs: () => nowMs,
    random,
    until,
    tell(who, event, fields = {}) {
      trace?.({ atMs: nowMs, who, event, fields });
    },
    async advance(ms) {
      await until(() => false, ms);
    },
    async finish<T>(promise: Promise<T>, limitMs = 3_600_000): Promise<T> {
      let settled = false;
      const mark = () => {
        settled = true;
      };
      promise.then(mark, mark);
      if (!(await until(() => settled, limitMs))) throw new Error(`Not settled after ${limitMs} ms.`);
      return promise;
    },
    clock({ skewMs = 0, rate = 1 } = {}) {
      const mine = { timers: timerHeap(), stopped: false };
      clocks.push(mine);
      let crashed = false;
      let wallShiftMs = startWallMs + skewMs;
      let lostMs = 0;
      const after = (ms: number, fire: () => void): (() => void) => {
        if (crashed) return () => {};
        // A whole part of a millisecond at least, so that nothing can loop without time passing.
        const dueMs = nowMs + Math.max(0.001, ms) / rate;
        const timer = { dueMs, order: random.number(), fire, place: -1 };
        mine.timers.add(timer);
        return () => mine.timers.drop(timer);
      };
      return {
        monotonicMs: () => nowMs * rate - lostMs,
        wallMs: () => Math.floor(nowMs * rate + wallShiftMs),
        after,
        sleep: (ms, signal) =>
          new Promise((resolve) => {
            if (signal?.aborted) return resolve();
            const end = () => {
              takeBack();
              signal?.removeEventListener("abort", end);
              resolve();
            };
            const takeBack = after(ms, end);
            signal?.addEventListener("abort", end, { once: true });
          }),
        pause() {
          mine.stopped = true;
        },
        resume() {
          mine.stopped = crashed;
        },
        crash() {
          crashed = true;
          mine.stopped = true;
          mine.timers.clear();
        },
        jumpWall(ms) {
          wallShiftMs += ms;
        },
        loseMonotonic(ms) {
          lostMs += ms;
        },
      };
    },
  };
}

/**
 * Lets every promise that can settle do so: all promise callbacks, and those that they bring about, run before the next
 * immediate. A turn of the event loop costs as much as many a step, so one turn makes several: their immediates are set
 * ahead.
 */
function settling(): () => Promise<void> {
  const stepsPerTurn = 32;
  const waiting: (() => void)[] = [];
  let ahead = 0;
  const next = (): void => {
    ahead -= 1;
    waiting.shift()?.();
  };
  return () =>
    new Promise((resolve) => {
      waiting.push(resolve);
      if (ahead >= waiting.length) return;
      ahead += stepsPerTurn;
      for (let step = 0; step < stepsPerTurn; step += 1) setImmediate(next);
    });
}

/** Small, fast, and the same everywhere: mulberry32. */
export function seededRandom(seed: number): Random {
  let state = seed >>> 0;
  const number = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const hex = (digits: number): string => {
    let text = "";
    while (text.length < digits) text += "0123456789abcdef"[Math.floor(number() * 16)];
    return text;
  };
  return { number, uuid: () => `${hex(8)}-${hex(4)}-4${hex(3)}-8${hex(3)}-${hex(12)}` };
}
