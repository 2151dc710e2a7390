import { platformTimer } from "../../../support/platformTimer.ts";
import { play } from "../script.ts";
import { platform } from "./endless.ts";
import type { Scenario } from "./scenarios.ts";

/** Timers as on Azure: the instances of an app share one, so that most of them never tick and the wakes are what races. */

const minutes = 60_000;

export const sharedTimer: Readonly<Record<string, Scenario>> = {
  "one instance of an app has the timer, and whoever leads is killed again and again": () =>
    play({ seed: 71, chunkMs: () => 4_000 }, async (script) => {
      const { world, run, engine, must } = script;
      let taken = 0;
      const timer = platformTimer(world.clock(), () => (taken += 1));
      platform(script, 3, { timer, breakAfterMs: 4_000 });
      await world.advance(3 * minutes);
      must(taken === 1, `${taken} instances took the timer that one of three should have`);
      await script.submit({ id: "r", chunks: 120, packSize: 1 });
      for (let kill = 1; kill <= 3; kill += 1) {
        await script.until(
          "somebody leads",
          () => engine.instances.some((one) => one.leading()),
          2 * minutes,
        );
        const done = run()?.parts.size ?? 0;
        engine.instances.find((one) => one.leading())?.kill();
        // The dead-man's wake is there after six seconds; nobody has to wait for the timer.
        await script.until(
          "somebody leads again",
          () => engine.instances.some((one) => one.leading()),
          20_000,
        );
        await script.until("packs are computed", () => (run()?.parts.size ?? 0) > done, minutes);
      }
      await script.untilEnded();
      script.mustBe("complete");
      script.replaces = false;
    }),
};
