import { runBlobs } from "../../../../src/engine/model/runBlobs.ts";
import { simNames as names } from "../../../support/engineWorld.ts";
import type { FarCall } from "../../../support/farStorage.ts";
import type { Fate, Weather } from "../../../support/network.ts";
import { leaderOnly, play, type Script, workerOnly } from "../script.ts";
import { deepTree } from "../stage.ts";
import type { Scenario } from "./scenarios.ts";
import { creates, holdFirst } from "./zombies.ts";

/** The names of the results that finishers of the run have written and not removed. */
const resultsOf = (script: Script): string[] =>
  [...(script.run()?.blobs.keys() ?? [])].filter((name) => name.includes("/result."));

/** A worker whose first call that fits has this fate. What is very late arrives after its caller gave it up. */
function workerStruckOnce(script: Script, fits: (call: FarCall) => boolean, fate: Fate): void {
  let struck = false;
  const weather: Weather<FarCall> = {
    calm: false,
    delays: { veryLate: () => 75_000, stop: () => 75_000 },
    fateOf(call) {
      if (struck || !fits(call)) return "arrives";
      struck = true;
      return fate;
    },
  };
  script.start({ ...workerOnly, weather });
}

export const deletes: Readonly<Record<string, Scenario>> = {
  "two finishers at once, and the one whose manifest comes second removes its result": () =>
    play({ seed: 60, chunkMs: () => 200 }, async (script) => {
      script.start(leaderOnly);
      script.start(workerOnly);
      script.start(workerOnly);
      const manifest = holdFirst(script, creates("manifest.json"));
      // Every message is there twice, that of the finish too.
      script.queues.doubled = 1;
      await script.submit({ id: "r", chunks: 4, packSize: 1 });
      await script.until("the other's manifest stands", () => script.run()?.manifests.has(1) === true);
      script.must(resultsOf(script).length === 2, "each finisher wrote a result under its own name");
      manifest.letGo();
      await script.untilEnded();
      script.mustBe("complete");
      script.must(resultsOf(script).length === 1, "the one that came second removed its result");
    }),

  "a manifest arrives after its finisher gave it up, and the result that it names is there": () =>
    play({ seed: 61, chunkMs: () => 200 }, async (script) => {
      script.start(leaderOnly);
      workerStruckOnce(script, creates("manifest.json"), "very late");
      await script.submit({ id: "r", chunks: 4, packSize: 1 });
      await script.untilEnded();
      script.mustBe("complete");
      script.must(resultsOf(script).length === 1, "no other finisher wrote a result");
    }),

  "the reply to a finisher's manifest is lost, and the result that it names stays": () =>
    play({ seed: 62, chunkMs: () => 200 }, async (script) => {
      script.start(leaderOnly);
      workerStruckOnce(script, creates("manifest.json"), "lost reply");
      await script.submit({ id: "r", chunks: 4, packSize: 1 });
      await script.untilEnded();
      script.mustBe("complete");
    }),

  "a repeated request for a manifest meets the finisher's own, and the result that it names stays": () =>
    play({ seed: 63, chunkMs: () => 200 }, async (script) => {
      const { blobs } = script.engine.client.storage;
      script.start(leaderOnly);
      script.start(workerOnly);
      let repeated = false;
      script.hold = (call) => {
        if (repeated || !creates("manifest.json")(call)) return undefined;
        repeated = true;
        // The SDK repeats a request whose reply was lost.
        return blobs.create(...(call.args as Parameters<typeof blobs.create>)).then(() => {});
      };
      await script.submit({ id: "r", chunks: 4, packSize: 1 });
      await script.untilEnded();
      script.mustBe("complete");
      script.must(repeated && resultsOf(script).length === 1, "the result is there");
    }),

  "an upload arrives after its finisher gave it up and removed it, and the next attempt has another name":
    () =>
      play({ seed: 64, chunkMs: () => 200 }, async (script) => {
        script.start(leaderOnly);
        workerStruckOnce(script, creates("/result."), "very late");
        await script.submit({ id: "r", chunks: 4, packSize: 1 });
        await script.untilEnded();
        script.mustBe("complete");
        const named = script.run()?.manifests.get(1)?.blob ?? "";
        script.must(
          resultsOf(script).some((name) => name.endsWith(named)),
          "the result is there",
        );
      }),

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
      const { run, must } = script;
      script.start({ breakAfterMs: 4_000 });
      script.start();
      script.hold = ({ op, args }) => {
        const known = run();
        const combines = op === "queues.send" && String(args[1]).includes('"combine","level":1,"index":0');
        if (!combines || known === undefined) return undefined;
        script.hold = undefined;
        script.lose(names.runs, runBlobs("r", known.uid).part(0, 0));
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
