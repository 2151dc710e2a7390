import { submit } from "../../../../src/engine/client/submit.ts";
import { StorageError } from "../../../../src/engine/model/errors.ts";
import { runBlobs } from "../../../../src/engine/model/runBlobs.ts";
import { simNames as names, requestOf } from "../../../support/engineWorld.ts";
import { otherBuild } from "../builds.ts";
import { leaderOnly, play, type Script, workerOnly } from "../script.ts";
import { platform } from "./endless.ts";
import type { Scenario } from "./scenarios.ts";

/** Rest: what has nothing to do costs nothing. And progress under leaders that do not live long. */

/** Calls of everyone that reach storage while so much time passes, but for the host's polls of its queues. */
async function callsDuring(script: Script, ms: number): Promise<number> {
  let calls = 0;
  const { hold } = script;
  script.hold = (call) => {
    if (!call.op.startsWith("queues.")) calls += 1;
    return hold?.(call);
  };
  await script.world.advance(ms);
  script.hold = hold;
  return calls;
}

const minutes = 60_000;

/** Two instances that tick each minute, and their calls in half an hour without any run. */
export async function idleCalls(script: Script): Promise<number> {
  const role = { breakAfterMs: 4_000, tickEveryMs: minutes };
  script.start(role);
  script.start(role);
  await script.world.advance(minutes);
  return callsDuring(script, 30 * minutes);
}

/** Half an hour costs what an idle one costs, and nobody leads. */
export async function mustCostNothing(script: Script, idle: number, what: string): Promise<void> {
  const calls = await callsDuring(script, 30 * minutes);
  if (calls > idle + 30)
    script.judge.report(
      "what has nothing to do costs nothing",
      `${calls} calls for ${what}, ${idle} while idle`,
    );
  script.must(
    script.engine.instances.every((one) => !one.leading()),
    `nobody leads for ${what}`,
  );
}

export const rest: Readonly<Record<string, Scenario>> = {
  "a paused run rests, and a resume wakes it": () =>
    play({ seed: 61, chunkMs: () => 2_000 }, async (script) => {
      const { world, run } = script;
      const idle = await idleCalls(script);
      await script.submit({ id: "r", chunks: 60, packSize: 1 });
      await script.until("some packs are done", () => (run()?.parts.size ?? 0) >= 10);
      await script.tell("pause");
      await world.advance(2 * minutes);
      await mustCostNothing(script, idle, "a paused run");
      const before = run()?.parts.size ?? 0;
      await script.tell("resume");
      await script.until("packs are computed again", () => (run()?.parts.size ?? 0) > before, 15_000);
      await script.untilEnded();
      script.mustBe("complete");
    }),

  "a marker of another version costs nothing, and an instance that reads it leads its run": () =>
    play({ seed: 65, chunkMs: () => 500 }, async (script) => {
      const { world, engine } = script;
      const idle = await idleCalls(script);
      const { client } = script.user({ other: true });
      await world.finish(submit(client, requestOf({ id: "r", chunks: 10, packSize: 1 })));
      await mustCostNothing(script, idle, "a marker of another version");
      const told = engine.log.filter(({ event }) => event === "needs-other-version");
      script.must(told.length === 2, `each of two instances tells of it once, not ${told.length} times`);
      script.start({ translated: otherBuild, breakAfterMs: 4_000 });
      await script.untilEnded();
      script.mustBe("complete");
    }),

  "a marker without a uid costs nothing and is told of once": () =>
    play({ seed: 66 }, async (script) => {
      const { engine } = script;
      const idle = await idleCalls(script);
      await engine.storage.blobs.create(names.active, "r", "", { metadata: { v: "1" } });
      await mustCostNothing(script, idle, "a marker without a uid");
      const told = engine.log.filter(({ event }) => event === "stray-marker");
      script.must(told.length === 2, `each of two instances tells of it once, not ${told.length} times`);
      await script.submit({ id: "s", chunks: 10, packSize: 1 });
      await script.untilEnded(1, "s");
      script.mustBe("complete", 1, "s");
    }),

  "a paused run rests until its deadline, which is kept within a tick": () =>
    play({ seed: 67, chunkMs: () => 2_000 }, async (script) => {
      const { world, run, must } = script;
      const idle = await idleCalls(script);
      await script.submit({ id: "r", chunks: 60, packSize: 1, deadline: { ms: 60 * minutes, keep: false } });
      const endsMs = world.nowMs() + 60 * minutes;
      await script.until("some packs are done", () => (run()?.parts.size ?? 0) >= 10);
      await script.tell("pause");
      await world.advance(2 * minutes);
      await mustCostNothing(script, idle, "a paused run with a deadline");
      must(run()?.state?.phase === "computing", "it waits");
      await world.advance(endsMs + 1.5 * minutes - world.nowMs());
      must(run()?.state?.error?.code === "deadline", "its deadline is kept within a tick");
      await script.untilEnded();
      script.mustBe("failed");
    }),

  "an operator leases the state of a run and never lets go": () =>
    play({ seed: 62, chunkMs: () => 1_000 }, async (script) => {
      const { run, judge, engine, must } = script;
      script.start({ breakAfterMs: 4_000 });
      await script.submit({ id: "r", chunks: 40, packSize: 1, cap: 2 });
      await script.until("some packs are done", () => (run()?.parts.size ?? 0) >= 4);
      const uid = run()?.uid ?? "";
      let refusing = true;
      let refused = 0;
      script.hold = ({ op, args }) => {
        if (!refusing || op !== "blobs.replace" || args[1] !== runBlobs("r", uid).state) return undefined;
        refused += 1;
        return Promise.reject(new StorageError("refused", "LeaseIdMissing", 412, "leased by hand"));
      };
      await script.submit({ id: "s", chunks: 10, packSize: 1 });
      await script.untilEnded(1, "s");
      script.mustBe("complete", 1, "s");
      refused = 0;
      await script.world.advance(10 * minutes);
      if (refused > 60)
        judge.report(
          "what has nothing to do costs nothing",
          `${refused} writes that cannot succeed in ten minutes`,
        );
      const skipped = engine.log.filter(
        ({ event, fields }) => event === "run-skipped" && fields["run"] === "r",
      );
      must(skipped.length > 0 && skipped.length < 30, `it is told now and then, not ${skipped.length} times`);
      refusing = false;
      await script.untilEnded();
      script.mustBe("complete");
    }),

  "nobody works for forty minutes": () =>
    play({ seed: 63, chunkMs: () => 1_000 }, async (script) => {
      const { world, run, judge } = script;
      script.start(leaderOnly);
      const worker = script.start(workerOnly);
      await script.submit({ id: "r", chunks: 60, packSize: 1 });
      // It takes some more while it stops.
      await script.until("some packs are done", () => (run()?.parts.size ?? 0) >= 10);
      worker.terminate();
      await world.advance(40 * minutes);
      const sent = run()?.sent.length ?? 0;
      // Those that were begun when it left may be sent now and then.
      if (sent > 61 + 2 * 8 + 10) judge.report("messages do not pile up", `${sent} messages for 60 packs`);
      script.start(workerOnly);
      await script.untilEnded();
      script.mustBe("complete");
    }),

  "a leader is killed every eight seconds, and a worker with its pack": () =>
    play({ seed: 64, chunkMs: () => 3_000 }, async (script) => {
      const { world, run, judge, engine } = script;
      const limitMs = 300_000;
      platform(script, 3, { works: false, breakAfterMs: 4_000, tickEveryMs: 1_000 });
      script.start(workerOnly);
      const victim = script.start(workerOnly);
      await script.submit({ id: "r", chunks: 24, packSize: 1 });
      await script.until("most packs are done", () => (run()?.parts.size ?? 0) >= 18);
      // In the middle of a pack.
      await world.advance(1_500);
      victim.kill();
      const killedMs = world.nowMs();
      while (script.replaces && run()?.manifests.size === 0 && world.nowMs() - killedMs < limitMs) {
        await world.advance(8_000);
        engine.instances.find((one) => one.leading())?.kill();
      }
      script.replaces = false;
      const tookMs = world.nowMs() - killedMs;
      if (tookMs > 60_000)
        judge.report(
          "every run ends in time",
          `the pack of a dead worker took ${Math.round(tookMs / 1_000)} s`,
        );
      await script.untilEnded();
      script.mustBe("complete");
    }),
};
