import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { beginCall } from "../../src/azure/azureCalls.ts";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

describe("the cap on one call", () => {
  it("ends a call after a minute, later for a large body", () => {
    const small = beginCall(undefined);
    const large = beginCall(undefined, 100 * 2 ** 20);
    vi.advanceTimersByTime(60_000);
    expect([small.signal.aborted, large.signal.aborted]).toEqual([true, false]);
    vi.advanceTimersByTime(100_000);
    expect(large.signal.aborted).toBe(true);
  });

  it("starts anew with progress and ends with the call", () => {
    const call = beginCall(undefined);
    vi.advanceTimersByTime(59_000);
    call.progress();
    vi.advanceTimersByTime(59_000);
    expect(call.signal.aborted).toBe(false);
    call.end();
    vi.advanceTimersByTime(60_000);
    expect(call.signal.aborted).toBe(false);
  });

  it("follows the caller's signal until the call ends, and leaves no listener on it", () => {
    const caller = new AbortController();
    const remove = vi.spyOn(caller.signal, "removeEventListener");
    const ended = beginCall(caller.signal);
    const pending = beginCall(caller.signal);
    ended.end();
    expect(remove).toHaveBeenCalledOnce();
    caller.abort();
    expect([ended.signal.aborted, pending.signal.aborted]).toEqual([false, true]);
    expect(() => beginCall(caller.signal)).toThrow(expect.objectContaining({ name: "AbortError" }));
  });
});
