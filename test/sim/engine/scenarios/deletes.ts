import { runBlobs } from "../../../../src/model/runBlobs.ts";
import { simNames as names } from "../../../support/engineWorld.ts";
import { leaderOnly, play, workerOnly } from "../script.ts";
import { deepTree } from "../stage.ts";
import type { Scenario } from "./scenarios.ts";
import { holdFirst } from "./zombies.ts";

export const deletes: Readonly<Record<string, Scenario>> = {
  "delete and resubmit under the same id": () =>
    play({ seed: 18, tree: deepTree, chunkMs: () => 3_000 }, async (script) => {
      const { run, must } = script;
      script.start({ breakAfterMs: 4_000 });
      script.start();
      await script.submit({ id: "r", chunks: 30, packSize: 1 });
      await script.until("packs are done and at work", () => (run()?.parts.size ?? 0) >= 4);
      const old = run()?.uid;
      await script.tell("delete");
      await script.submit({ id: "r", chunks: 7, packSize: 1 });
      must(run()?.uid !== old, "it is another run");
      await script.untilEnded();
      script.mustBe("complete");
      must(run()?.manifests.get(1)?.chunks === 7, "the result is the new run's");
    }),

  "submit again while the marker of the deleted run is on its way out": () =>
    play({ seed: 22, chunkMs: () => 100 }, async (script) => {
      const { run, must, engine } = script;
      script.start();
      await script.submit({ id: "r", chunks: 3, packSize: 1 });
      await script.untilEnded();
      const going = holdFirst(script, ({ op, args }) => op === "blobs.remove" && args[0] === names.active);
      await script.tell("delete");
      await script.until("its marker is to go", going.isHeld);
      engine.client.clock.after(3_000, going.letGo);
      await script.submit({ id: "r", chunks: 7, packSize: 1 });
      await script.untilEnded();
      must(run()?.manifests.get(1)?.chunks === 7, "the result is the new run's");
    }),

  "delete and resubmit while a leader of the old run sleeps in the middle of its sends": () =>
    play({ seed: 19, chunkMs: () => 1_000 }, async (script) => {
      const { world, run, must } = script;
      const first = script.start(leaderOnly);
      script.start(workerOnly);
      await script.submit({ id: "r", chunks: 40, packSize: 1, cap: 8 });
      await script.until("some packs are done", () => (run()?.parts.size ?? 0) >= 5);
      const old = run();
      // It stops with a message to put, which leaves when it goes on.
      let stopped = false;
      script.hold = ({ op }) => {
        if (op !== "queues.send" || stopped) return undefined;
        stopped = true;
        first.stopFor(200_000);
        return script.engine.client.clock.sleep(150_000);
      };
      await script.until("the leader has stopped", () => stopped);
      script.start(leaderOnly);
      await script.tell("delete");
      await script.submit({ id: "r", chunks: 9, packSize: 1 });
      await script.untilEnded();
      script.mustBe("complete");
      await world.advance(240_000);
      must(old?.uid !== run()?.uid, "it is another run");
    }),

  "delete at every moment of a run": async () => {
    let last = await deleteAfter(0);
    for (let afterMs = 350; afterMs <= 6_000 && last.violations.length === 0; afterMs += 350)
      last = await deleteAfter(afterMs);
    return last;
  },

  "delete at every moment of a run, and submit again at once": async () => {
    let last = await deleteAfter(0, true);
    for (let afterMs = 470; afterMs <= 6_000 && last.violations.length === 0; afterMs += 470)
      last = await deleteAfter(afterMs, true);
    return last;
  },

  "old runs expire, and a young one beside them does not": () =>
    play({ seed: 40, tree: deepTree, chunkMs: () => 300 }, async (script) => {
      const { world, run, must } = script;
      const role = { keepDays: 1, budgetMs: 40_000, breakAfterMs: 4_000 };
      script.start(role);
      await script.submit({ id: "r", chunks: 9, packSize: 1 });
      await script.untilEnded();
      for (const one of script.engine.instances) one.kill();
      await world.advance(2 * 86_400_000);
      script.start(role);
      await script.submit({ id: "s", chunks: 9, packSize: 1 });
      await script.until("the old run is gone", () => run() === undefined, 600_000);
      await script.untilEnded(1, "s");
      script.mustBe("complete", 1, "s");
      must(run("s")?.deleteAskedMs === undefined, "nobody wants to delete the young one");
    }),

  "a partial that was deleted by hand": () =>
    play({ seed: 27, tree: deepTree, chunkMs: () => 200 }, async (script) => {
      const { run, must, engine, judge } = script;
      script.start({ breakAfterMs: 4_000 });
      script.start();
      script.hold = ({ op, args }) => {
        const known = run();
        const combines = op === "queues.send" && String(args[1]).includes('"combine","level":1,"index":0');
        if (!combines || known === undefined) return undefined;
        script.hold = undefined;
        const name = runBlobs("r", known.uid).part(0, 0);
        engine.storage.operator.deleteBlob(names.runs, name);
        judge.ledger.apply({ kind: "removed", container: names.runs, name });
        known.lostByHand = true;
        return undefined;
      };
      await script.submit({ id: "r", chunks: 9, packSize: 1 });
      await script.untilEnded();
      script.mustBe("failed");
      must(run()?.state?.error?.message.includes("pack 0") === true, "it says which partial is not there");
      await script.tell("retry");
      await script.untilEnded(2);
      script.mustBe("complete", 2);
      const again =
        run()?.sent.filter(({ message }) => message.kind === "compute" && message.gen === 2) ?? [];
      const packs = again.map(({ message }) => (message.kind === "compute" ? message.pack : -1));
      must(
        packs.every((pack) => pack === 0),
        "only that pack is computed again",
      );
    }),
};

/** Leader and worker are killed a little later, so that another has to end the deletion. */
const deleteAfter = (afterMs: number, submitAgain = false) =>
  play({ seed: 21, tree: deepTree, chunkMs: () => 200 }, async (script) => {
    const { world, run } = script;
    const first = script.start({ breakAfterMs: 4_000 });
    await script.submit({ id: "r", chunks: 12, packSize: 1 });
    await world.advance(afterMs);
    await script.tell("delete");
    await world.advance(150);
    first.kill();
    script.start({ breakAfterMs: 4_000 });
    if (!submitAgain) return script.until("nothing of it is left", () => run() === undefined);
    await script.submit({ id: "r", chunks: 5, packSize: 1 });
    await script.untilEnded();
    script.mustBe("complete");
    script.must(run()?.manifests.get(1)?.chunks === 5, "the result is the new run's");
  });
