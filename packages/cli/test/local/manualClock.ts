import type { Clock, Random } from "../../../../src/engine/storage/ports.ts";

/** A clock that moves only when told to, so that tests of minutes take no time. */
export interface ManualClock extends Clock {
  /** Moves on by `ms`, firing each timer at its time and letting what it began settle. */
  advance(ms: number): Promise<void>;
}

export function manualClock(startMs = Date.UTC(2026, 0, 1)): ManualClock {
  let nowMs = startMs;
  let timers: { atMs: number; fire: () => void }[] = [];
  const after = (ms: number, fire: () => void) => {
    const timer = { atMs: nowMs + Math.max(0, ms), fire };
    timers.push(timer);
    return () => {
      timers = timers.filter((one) => one !== timer);
    };
  };
  return {
    monotonicMs: () => nowMs - startMs,
    wallMs: () => nowMs,
    after,
    sleep: (ms, signal) =>
      new Promise((resolve) => {
        if (signal?.aborted) return resolve();
        const cancel = after(ms, resolve);
        signal?.addEventListener("abort", () => {
          cancel();
          resolve();
        });
      }),
    async advance(ms) {
      const endMs = nowMs + ms;
      await settle();
      while (true) {
        const next = timers.filter((one) => one.atMs <= endMs).sort((a, b) => a.atMs - b.atMs)[0];
        if (!next) break;
        nowMs = Math.max(nowMs, next.atMs);
        timers = timers.filter((one) => one !== next);
        next.fire();
        await settle();
      }
      nowMs = endMs;
      await settle();
    },
  };
}

/** Lets everything run that waits for nothing but its turn. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 5; turn += 1) await new Promise<void>((resolve) => setImmediate(resolve));
}

/** Always in the middle; ids are numbered. */
export function plainRandom(): Random {
  let ids = 0;
  return {
    uuid: () => {
      ids += 1;
      return `00000000-0000-4000-8000-${String(ids).padStart(12, "0")}`;
    },
    number: () => 0.5,
  };
}
