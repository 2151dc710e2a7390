import { submit } from "../../../../src/engine/client/submit.ts";
import { requestOf } from "../../../support/engineWorld.ts";
import { otherBuild } from "../builds.ts";
import { leaderOnly, play, type Script, workerOnly } from "../script.ts";
import { deepTree } from "../stage.ts";
import type { Scenario } from "./scenarios.ts";

/** Builds beside each other of which neither reads what the other writes (rule *versions*). */

const ours = { breakAfterMs: 4_000 };
const other = { ...ours, translated: otherBuild };

const toldOf = ({ engine }: Script, id: string): boolean =>
  engine.log.some(({ event, fields }) => event === "needs-other-version" && fields["run"] === id);

export const versions: Readonly<Record<string, Scenario>> = {
  "an upgrade that changes versions in the middle of a run: each build ends its own": () =>
    play({ seed: 24, tree: deepTree, chunkMs: () => 800 }, async (script) => {
      const { world, engine, run, must } = script;
      for (let count = 0; count < 2; count += 1) script.start(ours);
      await script.submit({ id: "r", chunks: 60, packSize: 1, cap: 6 });
      await script.until("some packs are done", () => (run()?.parts.size ?? 0) >= 8);
      for (let count = 0; count < 2; count += 1) script.start(other);
      const { client } = script.user({ other: true });
      await world.finish(submit(client, requestOf({ id: "s", chunks: 30, packSize: 1 })));
      engine.instances.find((one) => one.leading())?.kill();
      script.start(ours);
      await script.untilEnded();
      script.mustBe("complete");
      for (const one of engine.instances.slice(0, 2)) one.terminate();
      engine.instances.at(-1)?.terminate();
      await script.untilEnded(1, "s");
      script.mustBe("complete", 1, "s");
      must(run()?.highest.version === 1 && run("s")?.highest.version === 2, "nobody led the other's run");
      must(
        [run(), run("s")].every((one) => one?.failures.size === 0),
        "nothing was taken for broken",
      );
    }),

  "a run of another version waits for an instance that reads it, and others go on": () =>
    play({ seed: 25, chunkMs: () => 800 }, async (script) => {
      const { world, run, must } = script;
      const first = script.start(other);
      const { client } = script.user({ other: true });
      await world.finish(submit(client, requestOf({ id: "r", chunks: 40, packSize: 1, cap: 4 })));
      await script.until("some packs are done", () => (run()?.parts.size ?? 0) >= 4);
      first.kill();
      const back = script.start(ours);
      await script.submit({ id: "s", chunks: 20, packSize: 1 });
      await script.untilEnded(1, "s");
      script.mustBe("complete", 1, "s");
      await world.advance(300_000);
      must(run()?.state?.phase === "computing", "what this build does not understand is left as it is");
      must(toldOf(script, "r"), "it is told of");
      script.start(other);
      await world.advance(30_000);
      back.terminate();
      await script.untilEnded();
      script.mustBe("complete");
    }),

  "workers give messages of another version back": () =>
    play({ seed: 26, chunkMs: () => 500 }, async (script) => {
      const { world, run, must } = script;
      script.start(leaderOnly);
      for (let count = 0; count < 2; count += 1) script.start({ ...workerOnly, translated: otherBuild });
      await script.submit({ id: "r", chunks: 12, packSize: 1 });
      await world.advance(120_000);
      must(run()?.plan === undefined, "nobody plans what it cannot read");
      script.start(workerOnly);
      await script.untilEnded();
      script.mustBe("complete");
      must((run()?.failures.size ?? 1) === 0, "nothing was taken for broken");
    }),
};
