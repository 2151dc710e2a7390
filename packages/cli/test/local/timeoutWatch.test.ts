import { describe, expect, it } from "vitest";
import { makeTimeoutWatch } from "../../local/supervision.ts";
import { manualClock } from "./manualClock.ts";

function setUp(functionTimeoutMs: number | null) {
  const clock = manualClock();
  const ended: string[] = [];
  return { clock, ended, watch: makeTimeoutWatch(functionTimeoutMs, clock, (name) => ended.push(name)) };
}

describe("the watch over invocations from outside", () => {
  it("acts two seconds after functionTimeout", async () => {
    const { clock, ended, watch } = setUp(10_000);
    watch.started("a", "slow");
    watch.started("b", "quick");
    await clock.advance(1_000);
    watch.ended("b");
    await clock.advance(10_900);
    expect(ended).toEqual([]);
    await clock.advance(100);
    expect(ended).toEqual(["slow"]);
  });

  it("never acts without a limit or after it was cleared", async () => {
    const unlimited = setUp(null);
    unlimited.watch.started("a", "slow");
    const cleared = setUp(10_000);
    cleared.watch.started("a", "slow");
    cleared.watch.clear();
    for (const { clock } of [unlimited, cleared]) await clock.advance(3_600_000);
    expect([...unlimited.ended, ...cleared.ended]).toEqual([]);
  });
});
