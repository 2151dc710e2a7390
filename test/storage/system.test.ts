import { setImmediate as turn } from "node:timers/promises";
import { runInNewContext } from "node:vm";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { shrinkHeap, systemClock, systemRandom } from "../../src/engine/storage/system.ts";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

describe("the system's clock", () => {
  it("sleeps for its time or until the signal fires, and never rejects", async () => {
    vi.useRealTimers();
    const startedMs = performance.now();
    await systemClock.sleep(10);
    // Timers count whole milliseconds.
    expect(performance.now() - startedMs).toBeGreaterThan(8);
    const signal = new AbortController();
    const sleeping = systemClock.sleep(1e9, signal.signal);
    signal.abort();
    await sleeping;
    await systemClock.sleep(1e9, AbortSignal.abort());
  });

  it("fires once after its time unless it is taken back", () => {
    const fire = vi.fn();
    systemClock.after(1000, fire);
    const cancel = systemClock.after(1000, fire);
    cancel();
    vi.advanceTimersByTime(3000);
    expect(fire).toHaveBeenCalledOnce();
  });

  it("waits long where Node's own timers would fire at once", () => {
    const fire = vi.fn();
    systemClock.after(2 ** 31, fire);
    vi.advanceTimersByTime(1_000_000);
    expect(fire).not.toHaveBeenCalled();
  });
});

describe("the system's randomness", () => {
  it("makes ids that differ and numbers from 0 to 1", () => {
    expect(systemRandom.uuid()).not.toBe(systemRandom.uuid());
    expect(systemRandom.uuid()).toMatch(/^[0-9a-f-]{36}$/);
    const number = systemRandom.number();
    expect(number >= 0 && number < 1).toBe(true);
  });
});

it("a heap that is shrunk holds no garbage, and code of other contexts cannot collect it", async () => {
  vi.useRealTimers();
  const garbage = manyLists();
  await turn();
  const alive = () => garbage.filter((one) => one.deref() !== undefined).length;
  expect(alive()).toBeGreaterThan(50);
  await turn();
  shrinkHeap();
  // What the engine still has in a register is alive.
  expect(alive()).toBeLessThan(5);
  expect(runInNewContext("typeof gc")).toBe("undefined");
});

const manyLists = () => Array.from({ length: 100 }, () => new WeakRef(new Array(1_000).fill(0)));
