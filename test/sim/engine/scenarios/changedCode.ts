import { command } from "../../../../src/engine/client/commands/command.ts";
import { InputError } from "../../../../src/engine/model/errors.ts";
import { refusedText } from "../../../../src/engine/model/identity.ts";
import { runBlobs } from "../../../../src/engine/model/runBlobs.ts";
import { simNames } from "../../../support/engineWorld.ts";
import { hourMs, play, type Script } from "../script.ts";
import { deepTree } from "../stage.ts";
import type { Scenario } from "./scenarios.ts";

const before = { code: "ranges@1", breakAfterMs: 4_000 } as const;
const after = { code: "ranges@2", breakAfterMs: 4_000 } as const;

/** Some packs are done by the first code; then every instance has the second. */
async function changeAll(script: Script): Promise<void> {
  const old = [script.start(before), script.start(before)];
  await script.submit({ id: "r", chunks: 16, packSize: 1 });
  await script.until("some packs are done", () => (script.run()?.parts.size ?? 0) >= 4);
  for (const one of old) one.terminate();
  script.start(after);
  script.start(after);
}

const words = ({ run }: Script): string | undefined => {
  const refused = run()?.state?.otherCode;
  return refused === undefined ? undefined : refusedText(refused);
};

/** As a person whose process has the second code. */
async function retry({ world, engine }: Script): Promise<string> {
  const calculations = { ...engine.client.calculations, versionOf: () => after.code };
  return world.finish(
    command({ ...engine.client, calculations }, "r", { kind: "retry" }).then(
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
        must((then ?? 16) < 16, "it was not over before");
        must(run()?.manifests.get(1)?.code.join() === "ranges@1", "one code made it");
      }),

  "a run whose code nobody has fails with what to do, and a retry by other code is refused": () =>
    play({ seed: 32, chunkMs: () => 800, packLimitMs: 60_000 }, async (script) => {
      const { run, must } = script;
      script.patienceMs = 20 * 60_000;
      await changeAll(script);
      await script.untilEnded();
      script.mustBe("failed");
      must(run()?.state?.error?.code === "other-code", `it says: ${run()?.state?.error?.message}`);
      must((await retry(script)) === "other-code", "a retry is refused");
      must(run()?.highest.generation === 1, "nothing was begun");
    }),

  "one instance with the right code is enough beside others with other code": () =>
    play({ seed: 136, chunkMs: () => 20_000 }, async (script) => {
      const { world, run, must } = script;
      script.patienceMs = hourMs;
      script.start(before);
      script.start(after);
      await script.submit({ id: "r", chunks: 30, packSize: 1 });
      await world.advance(300_000);
      must(words(script) === undefined, `it waits for nothing, but says: ${words(script)}`);
      await script.untilEnded();
      script.mustBe("complete");
      must(run()?.manifests.get(1)?.code.join() === "ranges@1", "one code made it");
      must((run()?.failures.size ?? 1) === 0, "nothing was taken for broken");
    }),

  "a partial of other code, or of none that it names, counts as missing, and one of the right code takes its place":
    () =>
      play({ seed: 37, chunkMs: () => 1_000 }, async (script) => {
        const { engine, run, must } = script;
        script.start(before);
        await script.submit({ id: "r", chunks: 20, packSize: 1, cap: 2 });
        await script.until("some packs are done", () => (run()?.parts.size ?? 0) >= 2);
        const { uid = "" } = run() ?? {};
        const { blobs } = engine.client.storage;
        for (const [pack, code] of [
          [18, ""],
          [19, "; code=ranges%402"],
        ] as const) {
          const contentType = `application/octet-stream; ms=1; attempt=1${code}`;
          const body = `[[${pack},${pack + 1}]]\n${pack}\nranges@2`;
          const metadata = { inline: "1", data: Buffer.from(body).toString("base64url") };
          const write = { contentType, metadata };
          await script.world.finish(
            blobs.create(simNames.runs, runBlobs("r", uid).part(0, pack), body, write).then(() => {}),
          );
        }
        await script.untilEnded();
        script.mustBe("complete");
        must(run()?.manifests.get(1)?.code.join() === "ranges@1", "one code made it");
      }),
};
