import { findManifest } from "../../../../src/engine/client/result.ts";
import { addSchedule, deleteSchedule } from "../../../../src/engine/client/schedules/changeSchedule.ts";
import { emptyBitmap, encodeBitmap, setBit } from "../../../../src/engine/model/bitmap.ts";
import { encodeMessage, type MessageOf } from "../../../../src/engine/model/message.ts";
import { scheduleBlob } from "../../../../src/engine/model/names.ts";
import { simNames as names } from "../../../support/engineWorld.ts";
import { forgedSchedules } from "../../../support/forgedDocuments.ts";
import { leaderOnly, play, type Script, workerOnly } from "../script.ts";
import { deepTree } from "../stage.ts";
import type { Scenario } from "./scenarios.ts";

type Forged = Pick<MessageOf<"finish">, "kind"> | Pick<MessageOf<"combine">, "kind" | "level" | "index">;

/** A stranger who can write into the queue has only the first pack folded. It goes past the checkers of sends. */
async function forge(script: Script, what: Forged): Promise<void> {
  const run = script.run();
  if (run === undefined) return;
  run.forged = true;
  const members = emptyBitmap(40);
  setBit(members, 0);
  const { uid } = run;
  const common = { v: 1, run: "r", uid, gen: 1, send: 1, turn: 0, members: encodeBitmap(members) } as const;
  const text = encodeMessage({ ...common, ...what });
  await script.engine.storage.queues.send(names.urgent, text);
}

async function startRun(script: Script): Promise<void> {
  script.start(leaderOnly);
  script.start(workerOnly);
  await script.submit({ id: "r", chunks: 40, packSize: 1, cap: 8 });
  await script.until("the first pack is done", () => script.run()?.parts.has(0) === true);
}

/** The run fails by the manifest that differs, gives nobody a result, and a retry folds every chunk. */
async function mustFailAndBeRetried(script: Script): Promise<void> {
  const { run, must } = script;
  script.mustBe("failed");
  must(run()?.state?.error?.code === "manifest-differs", "its error says why");
  await mustBeWithoutResult(script);
  await script.tell("retry");
  await script.untilEnded(2);
  script.mustBe("complete", 2);
  must(run()?.manifests.get(2)?.complete === true, "the retry has every chunk");
}

async function mustBeWithoutResult(script: Script): Promise<void> {
  const given = await script.world.finish(
    findManifest(script.engine.client, "r").then(
      () => true,
      () => false,
    ),
  );
  script.must(!given, "nobody is given the forged result");
}

export const forgeries: Readonly<Record<string, Scenario>> = {
  "a forged finish with other members ends in a failure and not in a result": () =>
    play({ seed: 41, chunkMs: () => 400 }, async (script) => {
      const { run, must } = script;
      await startRun(script);
      await forge(script, { kind: "finish" });
      await script.until("there is a manifest", () => run()?.manifests.has(1) === true);
      must(run()?.state?.phase === "computing", "the run is still at work");
      await mustBeWithoutResult(script);
      await script.untilEnded();
      await mustFailAndBeRetried(script);
    }),

  "a forged combine with other members ends in a failure, and a retry folds all of them": () =>
    // The shard is not whole when the message comes.
    play({ seed: 42, tree: deepTree, chunkMs: (chunk) => (chunk === 1 ? 3_000 : 400) }, async (script) => {
      await startRun(script);
      await forge(script, { kind: "combine", level: 1, index: 0 });
      await script.untilEnded();
      await mustFailAndBeRetried(script);
    }),

  "forged schedules of every kind beside a run and an honest schedule: neither is later than without": () =>
    play({ seed: 44, calm: true, chunkMs: () => 400 }, async (script) => {
      const { engine, must, world } = script;
      const { blobs, operator } = engine.storage;
      for (const { name, body, metadata } of forgedSchedules)
        await blobs.create(names.active, scheduleBlob(name), body, { metadata });
      script.start(leaderOnly);
      script.start(workerOnly);
      const asked = { calculation: "ranges", params: { chunks: 2, list: false }, packSize: 1 };
      const request = { name: "s", cron: "* * * * *", overlap: "allow", run: asked } as const;
      const { first } = await world.finish(addSchedule(engine.client, request));
      await script.submit({ id: "r", chunks: 40, packSize: 1, cap: 8 });
      await script.until("the run has ended", () => script.run()?.state?.phase === "complete", 60_000);
      await script.until("the due run too", () => script.run(first.run)?.state?.phase === "complete", 90_000);
      must(
        engine.instances.every((one) => !one.isDead()),
        "nobody has died of it",
      );
      const terms = script.run()?.state?.terms.length;
      must(terms === 1, `one leader led all of it, and not ${terms}`);
      const told = engine.log.filter(({ event }) => event === "schedule-stopped");
      must(told.length >= 8, `each is told of: ${told.length}`);
      for (const { name } of forgedSchedules) operator.deleteBlob(names.active, scheduleBlob(name));
      await world.finish(deleteSchedule(engine.client, "s"));
    }),

  "a forged finish in a run that is cancelled gives it no result": () =>
    play({ seed: 43, chunkMs: () => 400 }, async (script) => {
      const { run } = script;
      await startRun(script);
      await forge(script, { kind: "finish" });
      await script.until("there is a manifest", () => run()?.manifests.has(1) === true);
      await script.tell("cancel");
      await script.untilEnded();
      script.mustBe("cancelled");
      await mustBeWithoutResult(script);
    }),
};
