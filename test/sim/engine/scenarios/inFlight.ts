import { simNames as names } from "../../../support/engineWorld.ts";
import type { FarCall } from "../../../support/farStorage.ts";
import type { Weather } from "../../../support/network.ts";
import { hourMs, leaderOnly, play, type Script, workerOnly } from "../script.ts";
import { isHeartbeat } from "../storm.ts";
import { platform } from "./endless.ts";
import type { Scenario } from "./scenarios.ts";

/** What becomes of work that is under way: what counts as dead, as lost or as waiting, and what ends it. */

/** Few nodes are asked for at a time, so that none is polled at once. */
const smallTree = { directPacksMax: 2, shardPacksMax: 8, fanIn: 1_024 };

/** Packs of run `r` that threads have begun, as often as they did; the samples of its plan left out. */
const begunPacks = ({ judge }: Script) =>
  judge.begun.filter(({ task, handling: { message } }) => {
    return task.kind === "compute" && message?.kind === "compute" && message.run === "r";
  });

export const inFlight: Readonly<Record<string, Scenario>> = {
  "work that is isolated in a process which stops for ten seconds has not died": () => {
    const long = 3;
    const chunkMs = (chunk: number) => (chunk === long ? 120_000 : 2_000);
    return play({ seed: 93, chunkMs }, async (script) => {
      const { engine, broken, judge } = script;
      const { clock } = engine.client;
      let attempts = 0;
      broken.doom = ({ kind, from }) => {
        const handling = judge.by();
        if (kind !== "compute" || from !== long || handling?.message?.kind !== "compute") return undefined;
        attempts += 1;
        const mine = engine.instances.find(({ name }) => name === handling.instance);
        if (attempts === 1) clock.after(5_000, () => mine?.kill());
        else clock.after(8_000, () => mine?.stopFor(10_000));
        return undefined;
      };
      script.start(leaderOnly);
      platform(script, 6, workerOnly);
      await script.submit({ id: "r", chunks: 6, packSize: 1 });
      await script.untilEnded();
      script.mustBe("complete");
      if (attempts > 2) judge.report("hardly anything is computed twice", `${attempts} attempts`);
      script.replaces = false;
    });
  },

  "more threads than the first window has packs for": () =>
    play({ seed: 94, chunkMs: () => 60_000, calm: true }, async (script) => {
      const { world, judge } = script;
      script.start(leaderOnly);
      for (let count = 0; count < 60; count += 1) script.start({ ...workerOnly, threads: 8 });
      await world.advance(5_000);
      const startMs = world.nowMs();
      await script.submit({ id: "r", chunks: 300, packSize: 1 });
      await script.until("most packs are begun", () => begunPacks(script).length >= 290);
      const tookMs = world.nowMs() - startMs;
      // The plan times a chunk, then all packs are computed at the same time.
      if (tookMs > 60_000)
        judge.report("every run ends in time", `290 packs are begun after ${Math.round(tookMs / 1_000)} s`);
      await script.tell("cancel");
    }),

  "what throws in full swing, and what is combined, is sent once": () =>
    play({ seed: 136, tree: smallTree, chunkMs: () => 900, calm: true }, async (script) => {
      const { broken, judge, run } = script;
      for (let chunk = 40; chunk < 300; chunk += 7) broken.chunks.add(chunk);
      script.start(leaderOnly);
      for (let count = 0; count < 3; count += 1) script.start(workerOnly);
      await script.submit({ id: "r", chunks: 300, packSize: 1, tolerate: { chunks: 50 } });
      await script.untilEnded();
      script.mustBe("complete");
      const again = run()?.sent.filter(({ message }) => "send" in message && message.send > 1) ?? [];
      if (again.length > 0)
        judge.report(
          "hardly anything is computed twice",
          `${again.length} sends, such as of ${JSON.stringify(again[0]?.message)}`,
        );
    }),

  "a message that comes back while its resend is computed begins nothing": () =>
    play({ seed: 99, chunkMs: () => 15 * 60_000, packLimitMs: 30 * 60_000 }, async (script) => {
      const { world, judge } = script;
      script.patienceMs = hourMs;
      script.start(leaderOnly);
      const victim = script.start({ ...workerOnly, threads: 1 });
      await script.submit({ id: "r", chunks: 1, packSize: 1 });
      await script.until("its pack is computed", () => begunPacks(script).length === 1);
      await world.advance(20_000);
      for (let count = 0; count < 2; count += 1) script.start(workerOnly);
      victim.kill();
      await script.untilEnded();
      script.mustBe("complete");
      const begun = begunPacks(script).length;
      if (begun > 2) judge.report("few processes die of one piece of work", `${begun} attempts`);
    }),

  "heartbeats of long packs do not arrive for minutes, and what seems lost is resent more and more rarely":
    () =>
      play({ seed: 100, chunkMs: () => 150_000 }, async (script) => {
        const { engine, run } = script;
        script.start(leaderOnly);
        const weather: Weather<FarCall> = {
          calm: false,
          fateOf: (call) =>
            isHeartbeat(call) && engine.world.nowMs() < 200_000 ? "lost request" : "arrives",
        };
        for (let count = 0; count < 12; count += 1) script.start({ ...workerOnly, weather });
        await script.submit({ id: "r", chunks: 4, packSize: 1 });
        await script.untilEnded();
        script.mustBe("complete");
        const again = run()?.state?.resends ?? 0;
        if (again > 4 * 6) script.judge.report("messages do not pile up", `${again} resends of 4 packs`);
      }),

  "leaders hand over every half minute, and no pack is computed twice": () =>
    play({ seed: 96, chunkMs: () => 5_000, calm: true }, async (script) => {
      const { judge } = script;
      for (let count = 0; count < 2; count += 1) script.start({ ...leaderOnly, budgetMs: 30_000 });
      for (let count = 0; count < 3; count += 1) script.start({ ...workerOnly, threads: 8 });
      await script.submit({ id: "r", chunks: 400, packSize: 1, cap: 22 });
      await script.untilEnded();
      script.mustBe("complete");
      const terms = script.run()?.state?.term ?? 0;
      script.must(terms > 3, `${terms} terms`);
      const begun = begunPacks(script).length;
      if (begun > 400) judge.report("hardly anything is computed twice", `${begun} of 400 packs`);
    }),

  "a cancel frees the threads of long packs within five seconds": () =>
    play({ seed: 97, chunkMs: () => 120_000, calm: true }, async (script) => {
      const { world, must } = script;
      script.start(leaderOnly);
      for (let count = 0; count < 2; count += 1) script.start(workerOnly);
      await script.submit({ id: "r", chunks: 4, packSize: 1 });
      await script.until("all packs are computed", () => begunPacks(script).length === 4);
      await world.advance(20_000);
      await script.tell("cancel");
      await world.advance(5_000);
      must(
        begunPacks(script).every(({ endedMs }) => endedMs !== undefined),
        "all threads are free",
      );
      await script.untilEnded();
      script.mustBe("cancelled");
    }),

  "the marker of an expiry arrives after a retry has ended, and deletes nothing": () =>
    play({ seed: 98, chunkMs: () => 300 }, async (script) => {
      const { world, run, broken, must } = script;
      const first = script.start({ breakAfterMs: 4_000 });
      broken.chunks.add(3);
      await script.submit({ id: "r", chunks: 9, packSize: 1 });
      await script.untilEnded();
      script.mustBe("failed");
      first.kill();
      await world.advance(2 * 86_400_000);
      let arrive: (() => void) | undefined;
      script.hold = ({ op, args }) => {
        if (op !== "blobs.create" || args[0] !== names.active || args[1] !== "r") return undefined;
        script.hold = undefined;
        return new Promise<void>((resolve) => {
          arrive = resolve;
        });
      };
      const sweeper = script.start({ keepDays: 1, budgetMs: 40_000, breakAfterMs: 4_000 });
      await script.submit({ id: "s", chunks: 9, packSize: 1, tolerate: { chunks: 1 } });
      await script.until("the expiry's marker is on its way", () => arrive !== undefined, 600_000);
      sweeper.kill();
      broken.chunks.clear();
      script.start({ breakAfterMs: 4_000 });
      await script.tell("retry");
      await script.untilEnded(2);
      script.mustBe("complete", 2);
      arrive?.();
      await script.until(
        "its marker is gone again",
        () => run() === undefined || run()?.marker === undefined,
      );
      await world.advance(60_000);
      must(run()?.manifests.get(2)?.complete === true, "the result of the retry is there");
    }),
};
