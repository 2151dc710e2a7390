import { command } from "../../../../src/engine/client/commands/command.ts";
import { play, workerOnly } from "../script.ts";
import { deepTree } from "../stage.ts";
import type { Scenario } from "./scenarios.ts";

const gaps = [100, 1_290, 1_900];

export const retries: Readonly<Record<string, Scenario>> = {
  "a retry while old packs still run": () =>
    play({ seed: 7, tree: deepTree, chunkMs: () => 6_000 }, async (script) => {
      const { run, broken, must } = script;
      script.start({ breakAfterMs: 4_000 });
      script.start();
      script.start();
      broken.chunks.add(0);
      await script.submit({ id: "r", chunks: 12, packSize: 1 });
      await script.untilEnded(1);
      script.mustBe("failed");
      const before = new Map(run()?.parts);
      broken.chunks.clear();
      await script.tell("retry");
      await script.untilEnded(2);
      script.mustBe("complete", 2);
      must(run()?.manifests.get(2)?.complete === true, "nothing is missing");
      must(before.size < 12, "old packs were still at work when the retry began");
    }),

  "a retry of a cancelled run meets late partials": () =>
    play({ seed: 8, chunkMs: () => 8_000 }, async (script) => {
      const { world, run, must } = script;
      script.start({ works: false, breakAfterMs: 4_000 });
      for (let count = 0; count < 3; count += 1) script.start(workerOnly);
      await script.submit({ id: "r", chunks: 18, packSize: 1 });
      await script.until("the first packs are done", () => (run()?.parts.size ?? 0) >= 6);
      await world.advance(4_000);
      await script.tell("cancel");
      await script.untilEnded(1);
      script.mustBe("cancelled");
      const before = run()?.parts.size ?? 0;
      await script.tell("retry");
      await script.untilEnded(2);
      script.mustBe("complete", 2);
      must(before < 18, "the cancel came before all was done");
      const again = run()?.sent.filter(({ message }) => message.kind === "compute" && message.gen === 2);
      must((again?.length ?? 0) <= 18 - before + 8, "only what is missing is computed, late ones apart");
    }),

  "two retries at once are one generation": () =>
    play({ seed: 9, chunkMs: () => 500 }, async (script) => {
      const { world, run, broken, must } = script;
      script.start({ breakAfterMs: 4_000 });
      broken.chunks.add(3);
      await script.submit({ id: "r", chunks: 10, packSize: 1, tolerate: { chunks: 1 } });
      await script.untilEnded(1);
      broken.chunks.clear();
      const people = [script.user(), script.user(), script.user()];
      const asked = Promise.all(people.map(({ client }) => command(client, "r", { kind: "retry" })));
      must(
        (await world.finish(asked)).every(({ generation }) => generation === 2),
        "all ask for the same",
      );
      await script.untilEnded(2);
      script.mustBe("complete", 2);
      must(run()?.highest.generation === 2, "there are two generations");
    }),

  "a retry that fails again keeps what it computed, and the third generation completes": () =>
    play({ seed: 10, tree: deepTree, chunkMs: () => 300 }, async (script) => {
      const { run, broken, must } = script;
      script.start({ breakAfterMs: 4_000 });
      script.start();
      for (const chunk of [2, 9]) broken.chunks.add(chunk);
      await script.submit({ id: "r", chunks: 16, packSize: 1, tolerate: { chunks: 2 } });
      await script.untilEnded(1);
      must(run()?.manifests.get(1)?.folded === 14, "two chunks are missing at first");
      broken.chunks.delete(2);
      await script.tell("retry");
      await script.untilEnded(2);
      must(run()?.manifests.get(2)?.folded === 15, "one of them is mended");
      broken.chunks.clear();
      await script.tell("retry");
      await script.untilEnded(3);
      must(run()?.manifests.get(3)?.complete === true, "nothing is missing in the end");
      const computed =
        run()?.sent.filter(({ message }) => message.kind === "compute" && message.gen > 1) ?? [];
      const packs = new Set(computed.map(({ message }) => (message.kind === "compute" ? message.pack : -1)));
      must([...packs].sort((a, b) => a - b).join() === "2,9", "no other pack was ever computed again");
    }),

  "a retry of a run with few gaps, far apart": () =>
    play({ seed: 12, chunkMs: (chunk) => (gaps.includes(chunk) ? 5_000 : 5) }, async (script) => {
      const { run, broken, must } = script;
      script.start({ breakAfterMs: 4_000 });
      script.start();
      for (const chunk of gaps) broken.chunks.add(chunk);
      await script.submit({ id: "r", chunks: 1_950, packSize: 1, tolerate: { chunks: 3 } });
      await script.untilEnded(1);
      broken.chunks.clear();
      await script.tell("retry");
      await script.untilEnded(2);
      script.mustBe("complete", 2);
      const again = run()?.sent.filter(({ message }) => message.kind === "compute" && message.gen === 2);
      must(again?.length === 3, "only the gaps are computed");
    }),

  "a merge that throws only in the third level fails the run, and a retry after the mend computes no pack":
    () =>
      play({ seed: 11, tree: deepTree, chunkMs: () => 100 }, async (script) => {
        const { run, broken, must } = script;
        script.start({ breakAfterMs: 4_000 });
        script.start();
        broken.fold = (chunks) => chunks > 4 && chunks <= 8;
        await script.submit({ id: "r", chunks: 20, packSize: 1 });
        await script.untilEnded(1);
        script.mustBe("failed");
        must(run()?.state?.error?.code === "node-failed", "it says that a node failed");
        const parts = new Map(run()?.parts);
        broken.fold = undefined;
        await script.tell("retry");
        await script.untilEnded(2);
        script.mustBe("complete", 2);
        const again = run()?.sent.filter(({ message }) => message.gen === 2) ?? [];
        const levels = again.map(({ message }) => (message.kind === "combine" ? message.level : 0));
        must(!again.some(({ message }) => message.kind === "compute"), "no pack is computed again");
        must(
          !levels.includes(1) && levels.includes(3),
          "only the path from the third level up is combined again",
        );
        must(parts.size === 20, "every partial was there");
      }),
};
