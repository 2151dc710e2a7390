import { verify } from "../../../../src/engine/client/questions/verify.ts";
import { readSpec } from "../../../../src/engine/client/runDocuments.ts";
import { status } from "../../../../src/engine/client/status.ts";
import { LeasefoldError } from "../../../../src/engine/model/errors.ts";
import { runBlobs, specBlob } from "../../../../src/engine/model/runBlobs.ts";
import { simNames as names } from "../../../support/engineWorld.ts";
import { leaderOnly, play, type Script, workerOnly } from "../script.ts";
import { deepTree } from "../stage.ts";
import type { Scenario } from "./scenarios.ts";

/** What an operator or a failover loses of a run: nothing else of it is deleted, and the run says what is missing. */

const asked = { id: "r", chunks: 40, packSize: 1, cap: 4, tolerate: { chunks: 32 }, attempts: 1 } as const;

/** A run whose first generation has a result with gaps, and whose retry is at work. */
async function retrying(script: Script) {
  const leader = script.start(leaderOnly);
  script.start(workerOnly);
  for (let chunk = 8; chunk < 40; chunk += 1) script.broken.chunks.add(chunk);
  await script.submit(asked);
  await script.untilEnded();
  script.broken.chunks.clear();
  await script.tell("retry");
  await script.until("it computes again", () => script.run()?.parts.size === 16);
  const run = script.run();
  if (run === undefined) throw new Error("there is no run");
  return { leader, run };
}

function loseState(script: Script): void {
  const { id = "", uid = "" } = script.run() ?? {};
  script.lose(names.runs, runBlobs(id, uid).state);
}

async function statusCode(script: Script): Promise<string> {
  const asked = status(script.engine.client, "r").then(
    ({ phase }) => phase,
    (error: unknown) => (error instanceof LeasefoldError ? error.code : String(error)),
  );
  return script.world.finish(asked);
}

export const lost: Readonly<Record<string, Scenario>> = {
  "a spec that was deleted by hand in a retry ends it in words, and a retry goes on once the spec is back":
    () =>
      play({ seed: 71, chunkMs: () => 1_000 }, async (script) => {
        const { world, engine, must } = script;
        const { leader, run } = await retrying(script);
        const { blobs } = engine.client.storage;
        const spec = await blobs.read(names.runs, specBlob("r"));
        script.lose(names.runs, specBlob("r"));
        leader.kill();
        script.start(leaderOnly);
        await script.until("it has ended", () => run.state?.phase === "failed" && run.marker === undefined);
        must(run.state?.error?.code === "spec-lost", "its error says why");
        must(
          engine.log.some(({ event, fields }) => event === "run-ended" && fields["phase"] === "failed"),
          "the log says that it failed",
        );
        must((await statusCode(script)) === "spec-lost", "its status says what is missing");
        await world.advance(5_000);
        if (spec.kind === "found")
          await blobs.create(names.runs, specBlob("r"), spec.body, { contentType: "application/json" });
        must((await statusCode(script)) === "failed", "with its spec it is a failed run like any other");
        await script.tell("retry");
        await script.untilEnded(3);
        script.mustBe("complete", 3);
      }),

  "a container of runs that was deleted by hand takes no result with it": () =>
    play({ seed: 72, chunkMs: () => 1_000 }, async (script) => {
      const { engine, must } = script;
      const { leader, run } = await retrying(script);
      leader.kill();
      for (const name of engine.storage.operator.blobNames(names.runs)) script.lose(names.runs, name);
      script.start(leaderOnly);
      await script.until("it has ended", () => run.state?.phase === "failed" && run.marker === undefined);
      must(run.manifests.has(1), "the result of its first generation is there");
    }),

  "the marker of a second generation is deleted by hand, and a repeated submit goes on with it": () =>
    play({ seed: 75, chunkMs: () => 1_000 }, async (script) => {
      const { leader, run } = await retrying(script);
      await script.tell("pause");
      await script.tell("resume");
      await script.until("the resume is seen", () => run.state?.command === 3);
      leader.kill();
      script.lose(names.active, "r");
      await script.submit(asked);
      const { generation, turn, command } = run.marker ?? {};
      script.must(
        generation === 2 && turn === 3 && command === 3,
        "the marker is that of the generation at work",
      );
      script.start(leaderOnly);
      await script.untilEnded(2);
      script.mustBe("complete", 2);
    }),

  "the marker of a paused run is deleted by hand, and a repeated submit leaves it paused": () =>
    play({ seed: 76, chunkMs: () => 1_000 }, async (script) => {
      const { run } = await retrying(script);
      await script.tell("pause");
      await script.until("the pause is seen", () => run.state?.paused === true);
      script.lose(names.active, "r");
      await script.submit(asked);
      script.must(run.marker?.want === "paused", "a submit is no command");
      await script.world.advance(60_000);
      await script.tell("resume");
      await script.untilEnded(2);
      script.mustBe("complete", 2);
    }),

  "a node that was deleted by hand fails its run once, and the retry combines it again": () =>
    play({ seed: 77, tree: deepTree, chunkMs: () => 200 }, async (script) => {
      const { run } = script;
      script.start(leaderOnly);
      script.start(workerOnly);
      script.hold = ({ op, args }) => {
        const known = run();
        if (op !== "queues.send" || !String(args[1]).includes('"finish"') || known === undefined)
          return undefined;
        script.hold = undefined;
        // The finish folds the level above; the retry has this one combined again.
        for (const name of known.blobs.keys())
          if (name.includes("/nodes/001/")) script.lose(names.runs, name.slice(names.runs.length + 1));
        return undefined;
      };
      await script.submit({ id: "r", chunks: 16, packSize: 1 });
      await script.untilEnded();
      script.mustBe("failed");
      await script.tell("retry");
      await script.untilEnded(2);
      script.mustBe("complete", 2);
      const again = run()?.sent.filter(({ message }) => message.kind === "compute" && message.gen === 2);
      script.must(again?.length === 0, "no pack is computed again");
    }),

  "plan, state and queues are lost and partials remain, and the new plan of other packs folds none of them":
    async () => {
      let paceMs = 400;
      return play({ seed: 78, tree: deepTree, chunkMs: () => paceMs }, async (script) => {
        const { run, engine, must } = script;
        const leader = script.start(leaderOnly);
        script.start(workerOnly);
        await script.submit({ id: "r", chunks: 200 });
        const nodes = () => [...(run()?.blobs.keys() ?? [])].filter((name) => name.includes("/nodes/001/2/"));
        await script.until("some packs are combined", () => nodes().length >= 3);
        const before = run()?.plan?.packSize ?? 0;
        leader.kill();
        // A failover: what was written last had not been copied yet.
        for (const name of [...(run()?.blobs.keys() ?? [])])
          if (/\/(plan|state)\.json$/.test(name)) script.lose(names.runs, name.slice(names.runs.length + 1));
        for (const queue of [names.packs, names.urgent]) {
          engine.storage.operator.deleteQueue(queue);
          await engine.storage.queues.ensureQueue(queue);
        }
        paceMs = 20;
        script.start(leaderOnly);
        await script.untilEnded();
        must((run()?.plan?.packSize ?? 0) > before, "the new plan has larger packs");
        script.mustBe("complete");
        const verified = verify(engine.client, "r", { sample: { percent: 100 } });
        const { allEqual } = await script.world.finish(verified, 600_000);
        must(allEqual, "its result keeps the hashes of the packs that it folded");
      });
    },

  "a state that was deleted by hand while its run finished costs it no result": () =>
    play({ seed: 79, tree: deepTree, chunkMs: () => 200 }, async (script) => {
      const { run } = script;
      const leader = script.start(leaderOnly);
      script.start(workerOnly);
      await script.submit({ id: "r", chunks: 12, packSize: 1 });
      const finishes = () => run()?.sent.some(({ message }) => message.kind === "finish") === true;
      await script.until("it finishes", finishes);
      leader.kill();
      await script.until("there is a result", () => run()?.manifests.has(1) === true);
      loseState(script);
      const computes = () => run()?.sent.filter(({ message }) => message.kind === "compute").length;
      const before = computes();
      script.start(leaderOnly);
      await script.untilEnded();
      script.mustBe("complete");
      script.must(computes() === before, "what is there is counted, and no pack is sent again");
    }),

  "a state that was deleted by hand before a cancel that keeps what is done": () =>
    play({ seed: 80, chunkMs: () => 2_000 }, async (script) => {
      const { run, must } = script;
      const leader = script.start(leaderOnly);
      script.start(workerOnly);
      await script.submit({ id: "r", chunks: 40, packSize: 1, cap: 4 });
      await script.until("some packs are done", () => (run()?.parts.size ?? 0) >= 12);
      leader.kill();
      loseState(script);
      await script.tell({ kind: "cancel", keep: true });
      script.start(leaderOnly);
      await script.untilEnded();
      script.mustBe("complete");
      const { folded = 0 } = run()?.manifests.get(1) ?? {};
      must(folded >= 12 && folded < 40, "what was done is folded, and the rest is given up");
    }),

  "a complete run whose spec was deleted by hand can be deleted": () =>
    play({ seed: 73, chunkMs: () => 100 }, async (script) => {
      const { engine, world, must } = script;
      script.start(leaderOnly);
      script.start(workerOnly);
      await script.submit({ id: "r", chunks: 4, packSize: 1 });
      await script.untilEnded();
      const run = script.run();
      script.lose(names.runs, specBlob("r"));
      await world.advance(60_000);
      must((await world.finish(readSpec(engine.client, "r"))) === undefined, "its spec is gone");
      must(run?.manifests.size === 1 && run.state !== undefined, "all else is there");
      await script.tell("delete");
      await script.until("nothing of it is left", () => run?.blobs.size === 0 && run.marker === undefined);
    }),

  "a complete run whose spec was deleted by hand is left as it is": () =>
    play({ seed: 74, chunkMs: () => 100 }, async (script) => {
      script.start(leaderOnly);
      script.start(workerOnly);
      await script.submit({ id: "r", chunks: 4, packSize: 1 });
      await script.untilEnded();
      script.lose(names.runs, specBlob("r"));
    }),
};
