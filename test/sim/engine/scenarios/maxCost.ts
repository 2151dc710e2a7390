import { limits } from "../../../../src/engine/model/limits.ts";
import { spentOf } from "../../../../src/engine/model/spent.ts";
import { hourMs, leaderOnly, play, type Script, workerOnly } from "../script.ts";
import { idleCalls, mustCostNothing } from "./rest.ts";
import type { Scenario } from "./scenarios.ts";

/** A bound on what a run costs (rule *run limits*): about 25 of these packs, of four seconds each, fit into it. */
const maxCost = 0.004;
const packMs = 4_000;
const minutes = 60_000;

const spent = ({ run }: Script): number => spentOf(run()?.state).cost.dollars;

/** The run has come to rest at its bound: nothing is in flight, and what it spent is about all that it may. */
async function untilAtRest(script: Script, overShare = 1.15): Promise<void> {
  const { run, until, must } = script;
  await until("the run rests", () => run()?.marker?.rests === run()?.marker?.command, 10 * minutes);
  const { state, parts } = run() ?? {};
  must(state?.maxCostAtMs !== undefined && state.phase === "computing", "it is at its max cost");
  must(spent(script) > 0.6 * maxCost, `it spent $${spent(script)}, most of what it may`);
  // Leaders wait a little until nothing is in flight any more.
  must(
    spent(script) <= overShare * maxCost,
    `it spent $${spent(script)}, within its max cost of $${maxCost}`,
  );
  must((parts?.size ?? 0) > 0, "it computed what it could");
}

export const maxCosts: Readonly<Record<string, Scenario>> = {
  "a run at its max cost rests, a resume changes nothing, and a higher one lets it end": () =>
    play({ seed: 171, chunkMs: () => packMs, calm: true }, async (script) => {
      const { run, world, must } = script;
      const idle = await idleCalls(script);
      await script.submit({ id: "r", chunks: 200, packSize: 1, maxCost });
      await untilAtRest(script);
      await mustCostNothing(script, idle, "a run at its max cost");
      const { size } = run()?.parts ?? { size: 0 };
      await script.tell("resume");
      await world.advance(2 * minutes);
      must(run()?.parts.size === size, "a resume without a higher bound computes nothing");
      await script.tell({ kind: "cap", maxCost: 1 });
      await script.until("packs are computed again", () => (run()?.parts.size ?? 0) > size, 20_000);
      await script.untilEnded();
      script.mustBe("complete");
    }),

  "leaders die while a run comes to its max cost, and the next ones keep it": () =>
    play({ seed: 172, chunkMs: () => packMs }, async (script) => {
      const { run, world, must } = script;
      script.start(workerOnly);
      script.start(workerOnly);
      let leader = script.start(leaderOnly);
      await script.submit({ id: "r", chunks: 200, packSize: 1, maxCost });
      for (let kills = 0; kills < 4; kills += 1) {
        await world.advance(5_000);
        leader.kill();
        leader = script.start(leaderOnly);
      }
      // Time without a leader is in no state, so more seems to be computed at once.
      await untilAtRest(script, 1.5);
      const sent = new Set(
        run()?.sent.flatMap(({ message }) => (message.kind === "compute" ? message.pack : [])),
      );
      must(sent.size < 60, `${sent.size} of 200 packs were sent`);
      await script.tell({ kind: "cap", maxCost: 1 });
      await script.untilEnded();
      script.mustBe("complete");
    }),

  "workers die with packs of a run at its max cost, which are sent again once it may cost more": () =>
    play({ seed: 173, chunkMs: () => 3 * packMs }, async (script) => {
      const { run, world, must } = script;
      script.patienceMs = hourMs;
      script.start(leaderOnly);
      const workers = Array.from({ length: 4 }, () => script.start(workerOnly));
      await script.submit({ id: "r", chunks: 200, packSize: 1, maxCost });
      await script.until("it is at its max cost", () => run()?.state?.maxCostAtMs !== undefined);
      await world.advance(2_000);
      for (const worker of workers) worker.kill();
      script.start(workerOnly);
      const { length } = run()?.sent ?? { length: 0 };
      // The messages of the dead come back after ten minutes.
      await world.advance(limits.hostHidesMs + 5 * minutes);
      must(run()?.sent.length === length, "nothing is sent at its max cost");
      await script.tell({ kind: "cap", maxCost: 1 });
      await script.untilEnded();
      script.mustBe("complete");
    }),

  "a run at its max cost ends with what is done": () =>
    play({ seed: 174, chunkMs: () => packMs }, async (script) => {
      const { run, must } = script;
      script.start(leaderOnly);
      script.start(workerOnly);
      await script.submit({ id: "r", chunks: 200, packSize: 1, maxCost });
      await untilAtRest(script);
      const { size } = run()?.parts ?? { size: 0 };
      await script.tell({ kind: "cancel", keep: true });
      await script.untilEnded();
      script.mustBe("complete");
      must(run()?.manifests.get(1)?.folded === size, "its result has what was done");
    }),

  "a retry counts on, and packs that are done are folded at the bound": () =>
    play({ seed: 175, chunkMs: () => packMs }, async (script) => {
      const { run, broken, must } = script;
      script.start(leaderOnly);
      script.start(workerOnly);
      broken.fold = () => true;
      await script.submit({ id: "r", chunks: 12, packSize: 1, maxCost });
      await script.untilEnded();
      script.mustBe("failed");
      const before = spent(script);
      broken.fold = undefined;
      await script.tell("retry");
      await script.untilEnded(2);
      script.mustBe("complete", 2);
      must(spent(script) > before, "the retry costs more");
      const { earlier = [], packsComputed } = run()?.state ?? {};
      must(
        earlier.length === 1 && earlier[0]?.cost.dollars === before,
        "the first generation has its own cost",
      );
      must(packsComputed === 0, "the retry computed nothing");
    }),
};
