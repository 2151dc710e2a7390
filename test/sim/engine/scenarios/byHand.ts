import { leaderBlob } from "../../../../src/engine/model/names.ts";
import { simNames as names } from "../../../support/engineWorld.ts";
import { clearQueue } from "../hostile.ts";
import { deleteByHand, putSpecBack } from "../losses.ts";
import { leaderOnly, play, type Script, workerOnly } from "../script.ts";
import { deepTree, type SimulationResult } from "../stage.ts";
import type { Scenario } from "./scenarios.ts";
import { creates, holdFirst } from "./zombies.ts";

/** Somebody with a storage browser deletes what a run needs, and later puts it back, retries or submits again. */

const minuteMs = 60_000;

async function staffed(script: Script, workers = 2): Promise<void> {
  script.start({ ...leaderOnly, breakAfterMs: 4_000 });
  for (let count = 0; count < workers; count += 1) script.start(workerOnly);
}

const lose = (script: Script, ...what: Parameters<typeof deleteByHand>[2][]): void => {
  const run = script.run();
  for (const one of what)
    script.must(run !== undefined && deleteByHand(script, run, one), `a ${one} is there to be deleted`);
};

export const byHand: Readonly<Record<string, Scenario>> = {
  "a marker without spec, state and manifest is removed": () =>
    play({ seed: 82, chunkMs: () => 1_000 }, async (script) => {
      await script.submit({ id: "r", chunks: 12, packSize: 1 });
      const run = script.run();
      lose(script, "spec");
      await staffed(script);
      await script.until("the marker is gone", () => run?.marker === undefined, 2 * minuteMs);
    }),

  "plan, state and messages are lost, and the next plan has other packs: the first partials count for nothing":
    () => {
      let paceMs = 40;
      return play({ seed: 83, chunkMs: () => paceMs }, async (script) => {
        const { run, engine, world } = script;
        await staffed(script);
        await script.submit({ id: "r", chunks: 800 });
        await script.until("packs are done", () => (run()?.parts.size ?? 0) >= 6);
        const before = run()?.plan?.packSize;
        for (const one of engine.instances.slice()) one.kill();
        paceMs = 400;
        lose(script, "state", "plan");
        for (const queue of [names.packs, names.urgent]) await clearQueue(engine.storage, queue);
        await world.advance(1_000);
        await staffed(script, 4);
        await script.untilEnded();
        script.must(run()?.plan?.packSize !== before, `packs have ${before} chunks as before`);
        script.mustBe("complete");
      });
    },

  "a partial is deleted before its shard is folded, and a retry computes it": () =>
    play({ seed: 87, tree: deepTree, chunkMs: () => 300 }, async (script) => {
      const { run } = script;
      await staffed(script);
      await script.submit({ id: "r", chunks: 12, packSize: 1 });
      await script.until("partials are there", () => (run()?.parts.size ?? 0) >= 3);
      lose(script, "partial");
      await script.until("it ends", () => run()?.marker === undefined);
      for (let generation = 2; run()?.state?.phase !== "complete" && generation <= 3; generation += 1) {
        await script.tell("retry");
        await script.untilEnded(generation);
      }
      script.must(run()?.state?.phase === "complete", "two retries mend it");
    }),

  "the state is deleted while the run finishes: the result stands": () =>
    play({ seed: 88, chunkMs: () => 300 }, async (script) => {
      const { run } = script;
      await staffed(script);
      const manifest = holdFirst(script, creates("manifest.json"), true);
      await script.submit({ id: "r", chunks: 12, packSize: 1 });
      await script.until("the manifest is on its way", manifest.isHeld);
      lose(script, "state");
      manifest.letGo();
      await script.untilEnded();
      script.mustBe("complete");
      script.must(run()?.manifests.get(1)?.complete === true, "nothing is missing");
    }),

  "the state is deleted, and then the rest is given up: what is there is kept": () =>
    play({ seed: 89, chunkMs: () => 2_000 }, async (script) => {
      const { run } = script;
      await staffed(script);
      await script.submit({ id: "r", chunks: 20, packSize: 1 });
      await script.until("packs are done", () => (run()?.parts.size ?? 0) >= 8);
      lose(script, "state");
      await script.tell({ kind: "cancel", keep: true });
      await script.untilEnded();
      script.mustBe("complete");
    }),

  "each thing of a run is deleted in turn while it computes": async () => {
    let last: SimulationResult | undefined;
    for (const what of ["spec", "plan", "state", "partial"] as const) {
      last = await play({ seed: 90, chunkMs: () => 1_500 }, async (script) => {
        const { run, world } = script;
        await staffed(script);
        await script.submit({ id: "r", chunks: 16, packSize: 1 });
        await script.until("packs are done", () => (run()?.parts.size ?? 0) >= 5);
        const mine = run();
        lose(script, what);
        await world.advance(30_000);
        if (mine !== undefined) await putSpecBack(script, mine);
        await script.until("it ends", () => mine?.marker === undefined);
        const phase = run()?.state?.phase;
        script.must(what !== "state" || phase === "complete", `without its ${what} it is ${phase}`);
        if (phase === "complete") return;
        await script.tell("retry");
        await script.untilEnded(2);
        script.mustBe("complete", 2);
      });
      if (last.violations.length > 0) break;
    }
    return last as SimulationResult;
  },

  "the lease record is deleted while a run computes": () =>
    play({ seed: 91, chunkMs: () => 1_500 }, async (script) => {
      const { run, engine, world } = script;
      for (let count = 0; count < 3; count += 1) script.start({ breakAfterMs: 4_000, tickEveryMs: 1_000 });
      await script.submit({ id: "r", chunks: 30, packSize: 1 });
      await script.until("packs are done", () => (run()?.parts.size ?? 0) >= 5);
      engine.storage.operator.deleteBlob(names.coordination, leaderBlob);
      await world.advance(1_000);
      await script.untilEnded();
      script.mustBe("complete");
    }),

  "the heartbeats of all workers are deleted again and again": () =>
    play({ seed: 92, chunkMs: () => 8_000, calm: true }, async (script) => {
      const { engine, judge } = script;
      await staffed(script, 4);
      const { operator } = engine.storage;
      const wipe = (): void => {
        for (const name of operator.blobNames(names.coordination))
          if (name.startsWith("workers/")) {
            operator.deleteBlob(names.coordination, name);
            judge.ledger.apply({ kind: "removed", container: names.coordination, name });
          }
        engine.client.clock.after(3_000, wipe);
      };
      wipe();
      await script.submit({ id: "r", chunks: 40, packSize: 1 });
      await script.untilEnded();
      script.mustBe("complete");
      const begun = judge.begun.filter(({ handling }) => handling.message?.kind === "compute").length;
      if (begun > 2 * 40) judge.report("hardly anything is computed twice", `${begun} of 40 packs`);
    }),
};
