import { limits } from "../../../../src/engine/model/limits.ts";
import { leaderOnly, play, workerOnly } from "../script.ts";
import type { Scenario } from "./scenarios.ts";

export const pauses: Readonly<Record<string, Scenario>> = {
  "pause and resume between two listings": () =>
    play({ seed: 3, chunkMs: () => 2_000, calm: true }, async (script) => {
      const { world, run, must } = script;
      script.start(leaderOnly);
      script.start(workerOnly);
      await script.submit({ id: "r", chunks: 30, packSize: 1 });
      await script.until("the leader looks slowly", () => (run()?.parts.size ?? 0) >= 10);
      await world.advance(12_000);
      const turnBefore = run()?.state?.turn;
      await script.tell("pause");
      await world.advance(50);
      await script.tell("resume");
      const resumedMs = world.nowMs();
      await script.until("the leader has seen both at once", () => run()?.state?.turn === 2);
      must(turnBefore === 0 && run()?.state?.paused === false, "the leader never saw the pause");
      await script.untilEnded();
      script.mustBe("complete");
      must(world.nowMs() - resumedMs < 60_000, "nothing waits for what workers dropped");
      must((run()?.state?.packsFailed ?? 1) === 0, "no pack failed");
    }),

  "a pause holds for minutes, under another leader too": () =>
    play({ seed: 4, chunkMs: () => 1_000, calm: true }, async (script) => {
      const { world, run, must } = script;
      const leader = script.start(leaderOnly);
      script.start(workerOnly);
      await script.submit({ id: "r", chunks: 40, packSize: 1 });
      await script.until("some packs are done", () => (run()?.parts.size ?? 0) >= 8);
      await script.tell("pause");
      await world.advance(limits.markerTrustMs + 3_000);
      leader.kill();
      script.start(leaderOnly);
      const { size } = run()?.parts ?? { size: 0 };
      const { length } = run()?.sent ?? { length: 0 };
      await world.advance(5 * 60_000);
      must(run()?.parts.size === size, "no partial comes during a pause");
      must(run()?.sent.length === length, "nothing is sent during a pause");
      await script.tell("resume");
      await script.untilEnded();
      script.mustBe("complete");
    }),

  "pauses and resumes in quick succession, each at another moment of the leader's loop": () =>
    play({ seed: 5, chunkMs: () => 700 }, async (script) => {
      const { world, run, must } = script;
      script.start({ breakAfterMs: 4_000 });
      script.start();
      await script.submit({ id: "r", chunks: 60, packSize: 2, cap: 6 });
      await script.until("some packs are done", () => (run()?.parts.size ?? 0) >= 3);
      for (let turn = 0; turn < 12; turn += 1) {
        await script.tell("pause");
        await world.advance(37 * turn);
        await script.tell("resume");
        await world.advance(101 * (12 - turn));
      }
      await script.untilEnded();
      script.mustBe("complete");
      must((run()?.state?.packsFailed ?? 1) === 0, "no pack failed");
    }),

  "a lowered cap holds within two loops, and a run of cap one goes on one by one": () =>
    play({ seed: 6, chunkMs: () => 500 }, async (script) => {
      const { world, run, must } = script;
      script.start({ breakAfterMs: 4_000 });
      script.start();
      await script.submit({ id: "r", chunks: 80, packSize: 1, cap: 20 });
      await script.until("some packs are done", () => (run()?.parts.size ?? 0) >= 10);
      await script.tell({ kind: "cap", cap: 1 });
      await world.advance(4_200);
      must(run()?.state?.cap === 1, "the leader has seen the cap");
      const open = () => (run()?.sent.length ?? 0) - (run()?.parts.size ?? 0);
      await script.until("what was in flight is done", () => open() <= 2, 60_000);
      for (let second = 0; second < 20; second += 1) {
        await world.advance(1_000);
        must((run()?.state?.inFlight ?? 0) <= 1, "one pack at most is in flight");
      }
      await script.tell({ kind: "cap", cap: 20 });
      await script.untilEnded();
      script.mustBe("complete");
    }),
};
