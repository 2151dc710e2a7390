import { command } from "../../../../src/engine/client/commands/command.ts";
import type { Change } from "../../../../src/engine/client/commands/decideCommand.ts";
import { InputError } from "../../../../src/engine/model/errors.ts";
import { refusedText } from "../../../../src/engine/model/identity.ts";
import { runBlobs } from "../../../../src/engine/model/runBlobs.ts";
import { simNames } from "../../../support/engineWorld.ts";
import { play, type Script } from "../script.ts";
import { deepTree } from "../stage.ts";
import type { Scenario } from "./scenarios.ts";

const before = { code: "ranges@1", breakAfterMs: 4_000 } as const;
const after = { code: "ranges@2", breakAfterMs: 4_000 } as const;

/** Some packs are done by the first code; then every instance has the second. */
async function changeAll(script: Script): Promise<void> {
  const old = [script.start(before), script.start(before)];
  await script.submit({ id: "r", chunks: 40, packSize: 1 });
  await script.until("some packs are done", () => (script.run()?.parts.size ?? 0) >= 6);
  for (const one of old) one.terminate();
  script.start(after);
  script.start(after);
}

const words = ({ run }: Script): string | undefined => {
  const refused = run()?.state?.otherCode;
  return refused === undefined ? undefined : refusedText(refused);
};

/** As a person whose process has the second code. */
async function retry({ world, engine }: Script, redo?: "recompute" | "mix"): Promise<string> {
  const change: Change = { kind: "retry", redo, code: after.code };
  return world.finish(
    command(engine.client, "r", change).then(
      () => "accepted",
      (error: unknown) => (error instanceof InputError ? error.code : String(error)),
    ),
  );
}

export const changedCode: Readonly<Record<string, Scenario>> = {
  "code that is changed in mid-run computes nothing, the run says so, and goes on when the change is undone":
    () =>
      play({ seed: 31, tree: deepTree, chunkMs: () => 800 }, async (script) => {
        const { world, run, must } = script;
        await changeAll(script);
        await world.advance(60_000);
        must(words(script) === "no instance has ranges 1; they have ranges 2", `it says: ${words(script)}`);
        const then = run()?.parts.size;
        script.start(before);
        await script.untilEnded();
        script.mustBe("complete");
        must((then ?? 40) < 40, "it was not over before");
        must(run()?.manifests.get(1)?.code.join() === "ranges@1", "one code made it");
      }),

  "a run whose code nobody has fails with what to do, and a retry by other code is refused": () =>
    play({ seed: 32, chunkMs: () => 800 }, async (script) => {
      const { run, must } = script;
      await changeAll(script);
      await script.untilEnded();
      script.mustBe("failed");
      must(run()?.state?.error?.code === "other-code", `it says: ${run()?.state?.error?.message}`);
      must((await retry(script)) === "other-code", "a retry needs a choice");
      must(run()?.highest.generation === 1, "nothing was begun");
    }),

  "a retry that recomputes plans anew and folds nothing of the code before": () =>
    play({ seed: 33, tree: deepTree, chunkMs: () => 800 }, async (script) => {
      const { run, must } = script;
      await changeAll(script);
      await script.untilEnded();
      must((await retry(script, "recompute")) === "accepted", "it is accepted");
      await script.untilEnded(2);
      script.mustBe("complete", 2);
      const manifest = run()?.manifests.get(2);
      must(manifest?.code.join() === "ranges@2" && manifest.origin === 2, "only the new code made it");
      const again = run()?.sent.filter(({ message }) => message.kind === "compute" && message.gen === 2);
      must(
        new Set(again?.map(({ message }) => JSON.stringify(message))).size >= 40,
        "every pack is computed",
      );
    }),

  "a complete run can be recomputed, and a third generation builds on that": () =>
    play({ seed: 34, tree: deepTree, chunkMs: () => 300 }, async (script) => {
      const { broken, run, must } = script;
      const old = script.start(before);
      await script.submit({ id: "r", chunks: 20, packSize: 1, tolerate: { chunks: 1 } });
      await script.untilEnded();
      script.mustBe("complete");
      old.terminate();
      script.start(after);
      broken.chunks.add(7);
      must((await retry(script, "recompute")) === "accepted", "it is accepted");
      await script.untilEnded(2);
      must(run()?.manifests.get(2)?.folded === 19, "one chunk is missing");
      broken.chunks.clear();
      must((await retry(script)) === "accepted", "the same code needs no choice");
      await script.untilEnded(3);
      must(run()?.manifests.get(3)?.complete === true, "nothing is missing in the end");
      must(run()?.manifests.get(3)?.code.join() === "ranges@2", "one code made it");
    }),

  "a retry that mixes computes only what is missing, and its manifest says so": () =>
    play({ seed: 35, tree: deepTree, chunkMs: () => 800 }, async (script) => {
      const { run, must } = script;
      await changeAll(script);
      await script.untilEnded();
      const there = new Set(run()?.parts.keys());
      must((await retry(script, "mix")) === "accepted", "it is accepted");
      await script.untilEnded(2);
      script.mustBe("complete", 2);
      const manifest = run()?.manifests.get(2);
      must(
        manifest?.mixed === true && manifest.code.join() === "ranges@1,ranges@2",
        "it says that both made it",
      );
      const again = run()?.sent.filter(
        ({ message }) => message.kind === "compute" && message.gen === 2 && there.has(message.pack),
      );
      must(again?.length === 0, "no pack that was there is computed again");
    }),

  "one instance with the right code is enough beside others with other code": () =>
    play({ seed: 36, chunkMs: () => 40_000 }, async (script) => {
      const { world, run, must } = script;
      script.start(before);
      script.start(after);
      await script.submit({ id: "r", chunks: 60, packSize: 1 });
      await world.advance(300_000);
      must(words(script) === undefined, `it waits for nothing, but says: ${words(script)}`);
      await script.untilEnded();
      script.mustBe("complete");
      must(run()?.manifests.get(1)?.code.join() === "ranges@1", "one code made it");
      must((run()?.failures.size ?? 1) === 0, "nothing was taken for broken");
    }),

  "a partial of other code counts as missing, and one of the right code takes its place": () =>
    play({ seed: 37, chunkMs: () => 1_000 }, async (script) => {
      const { engine, run, must } = script;
      script.start(before);
      await script.submit({ id: "r", chunks: 20, packSize: 1, cap: 2 });
      await script.until("some packs are done", () => (run()?.parts.size ?? 0) >= 2);
      const { uid = "" } = run() ?? {};
      const { blobs } = engine.client.storage;
      const contentType = "application/octet-stream; ms=1; attempt=1; code=ranges%402";
      const body = "[[19,20]]\nranges@2";
      const write = { contentType, metadata: { inline: "1", data: Buffer.from(body).toString("base64url") } };
      await script.world.finish(
        blobs.create(simNames.runs, runBlobs("r", uid).part(0, 19), body, write).then(() => {}),
      );
      await script.untilEnded();
      script.mustBe("complete");
      must(run()?.manifests.get(1)?.code.join() === "ranges@1", "one code made it");
    }),
};
