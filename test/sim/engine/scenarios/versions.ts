import { submit } from "../../../../src/engine/client/submit.ts";
import { requestOf } from "../../../support/engineWorld.ts";
import { newerVersion } from "../builds.ts";
import { leaderOnly, play, workerOnly } from "../script.ts";
import { deepTree } from "../stage.ts";
import type { Scenario } from "./scenarios.ts";

const newer = { translated: newerVersion };

export const versions: Readonly<Record<string, Scenario>> = {
  "a rolling deploy in the middle of a run": () =>
    play({ seed: 24, tree: deepTree, chunkMs: () => 800 }, async (script) => {
      const { world, run, must } = script;
      const old = [script.start({ breakAfterMs: 4_000 }), script.start({ breakAfterMs: 4_000 })];
      await script.submit({ id: "r", chunks: 160, packSize: 1, cap: 12 });
      await script.until("some packs are done", () => (run()?.parts.size ?? 0) >= 8);
      script.start({ ...newer, breakAfterMs: 4_000 });
      await world.advance(5_000);
      old[0]?.terminate();
      script.start({ ...newer, breakAfterMs: 4_000 });
      await world.advance(10_000);
      old[1]?.terminate();
      await script.untilEnded();
      script.mustBe("complete");
      must(run()?.highest.version === 2, "the new version has led it");
    }),

  "a run of a newer version waits for one, and others go on": () =>
    play({ seed: 25, chunkMs: () => 800 }, async (script) => {
      const { world, run, must } = script;
      const first = script.start({ ...newer, breakAfterMs: 4_000 });
      await script.submit({ id: "r", chunks: 40, packSize: 1, cap: 4 });
      await script.until("some packs are done", () => (run()?.parts.size ?? 0) >= 4);
      first.kill();
      const old = script.start({ breakAfterMs: 4_000 });
      await script.submit({ id: "s", chunks: 20, packSize: 1 });
      await script.untilEnded(1, "s");
      script.mustBe("complete", 1, "s");
      await world.advance(300_000);
      must(run()?.state?.phase === "computing", "what the old version does not understand is left as it is");
      must(
        script.engine.log.some(
          ({ event, fields }) => event === "needs-other-version" && fields["run"] === "r",
        ),
        "it is listed as one that needs a newer version",
      );
      script.start({ ...newer, breakAfterMs: 4_000 });
      await world.advance(30_000);
      old.terminate();
      await script.untilEnded();
      script.mustBe("complete");
    }),

  "an old leader gives way to a newer one": () =>
    play({ seed: 28, chunkMs: () => 2_000 }, async (script) => {
      const { world, run, must } = script;
      script.start({ breakAfterMs: 4_000 });
      await script.submit({ id: "s", chunks: 70, packSize: 1, cap: 2 });
      await script.until("the old one leads", () => (run("s")?.parts.size ?? 0) >= 2);
      // The old one also takes work, and gives it back again and again.
      for (let count = 0; count < 3; count += 1) script.start({ ...newer, breakAfterMs: 4_000 });
      const { client } = script.user({ newer: true });
      await world.finish(submit(client, requestOf({ id: "r", chunks: 6, packSize: 1 })));
      const submittedMs = world.nowMs();
      await script.until("the newer one leads", () => run()?.state !== undefined);
      must(world.nowMs() - submittedMs < 30_000, "nobody waited for the old one's budget to end");
      await script.untilEnded();
      script.mustBe("complete");
      await script.untilEnded(1, "s");
    }),

  "old workers give a newer leader's messages back": () =>
    play({ seed: 26, chunkMs: () => 500 }, async (script) => {
      const { world, run, must } = script;
      script.start({ ...leaderOnly, ...newer });
      script.start(workerOnly);
      await script.submit({ id: "r", chunks: 12, packSize: 1 });
      await world.advance(120_000);
      must(run()?.plan === undefined, "an old worker plans nothing for a newer leader");
      script.start({ ...workerOnly, ...newer });
      await script.untilEnded();
      script.mustBe("complete");
      must((run()?.failures.size ?? 1) === 0, "nothing was taken for broken");
    }),
};
