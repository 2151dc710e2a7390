import { submit } from "../../../../src/engine/client/submit.ts";
import { runBlobs } from "../../../../src/engine/model/runBlobs.ts";
import { requestOf, type SubmitRequest, simNames } from "../../../support/engineWorld.ts";
import { rangesCalculations } from "../../../support/rangesCode.ts";
import { play, type Script, workerOnly } from "../script.ts";
import { deepTree, type StageOptions } from "../stage.ts";
import type { Scenario } from "./scenarios.ts";

const request = { chunks: 24, packSize: 2, list: true } as const;

/** Files that have these contents, and `same` otherwise. */
const files =
  (changed: Readonly<Record<number, string>> = {}) =>
  (chunk: number): string =>
    changed[chunk] ?? "same";

/** The packs of a run that were computed and not copied, ascending. */
function computedOf({ run }: Script, id: string): string {
  const { parts, copied } = run(id) ?? { parts: new Map<number, string>(), copied: new Set<number>() };
  const packs = [...parts.keys()].filter((pack) => !copied.has(pack));
  return packs.sort((a, b) => a - b).join();
}

/** A complete run `a` that has kept its partials; then chunk 5 changes, which is in pack 2. */
async function afterOne(script: Script): Promise<void> {
  script.start({ breakAfterMs: 4_000 });
  script.start();
  script.broken.fileOf = files();
  await script.submit({ ...request, id: "a", keepPartials: true });
  await script.untilEnded(1, "a");
  script.mustBe("complete", 1, "a");
  script.broken.fileOf = files({ 5: "new" });
}

/** A complete run `a` with a gap, pack 3. */
async function withGap(script: Script): Promise<void> {
  script.start({ breakAfterMs: 4_000 });
  script.start();
  script.broken.fileOf = files();
  script.broken.chunks.add(7);
  await script.submit({ ...request, id: "a", tolerate: { chunks: 2 } });
  await script.untilEnded(1, "a");
  script.broken.chunks.clear();
}

/** As a person whose process has this code. */
async function submitBy({ engine, world }: Script, code: string, asked: SubmitRequest): Promise<void> {
  const calculations = { ...rangesCalculations, versionOf: () => code };
  await world.finish(submit({ ...engine.client, calculations }, requestOf(asked)));
}

const before = { code: "ranges@1", breakAfterMs: 4_000 } as const;
const after = { code: "ranges@2", breakAfterMs: 4_000 } as const;

/** Run `a` of the first code is cancelled when some packs are done; then every instance has the second. */
async function changeCode(script: Script): Promise<void> {
  const old = script.start(before);
  await script.submit({ id: "a", chunks: 40, packSize: 1, cap: 4 });
  await script.until("some packs are done", () => (script.run("a")?.parts.size ?? 0) >= 6);
  await script.tell("cancel", "a");
  await script.untilEnded(1, "a");
  old.terminate();
  script.start(after);
}

/** Somebody with a storage browser changes what a partial says, and nothing else of it. */
async function spoil({ engine, run }: Script, id: string, pack: number): Promise<void> {
  const { blobs } = engine.storage;
  const { plan, uid = "" } = run(id) ?? {};
  const name = runBlobs(id, uid).part(Math.floor(pack / (plan?.shardSize ?? 1)), pack);
  const found = await blobs.read(simNames.runs, name);
  if (found.kind !== "found") throw new Error(`${name} is not there`);
  const { contentType, metadata, etag } = found.properties;
  // The shape of the merges, in the second line.
  const body = Buffer.from(found.body).toString().replace(/\n./, "\nx");
  await blobs.replace(simNames.runs, name, body, { contentType, metadata, ifMatch: etag });
}

const played = (
  seed: number,
  scenario: (script: Script) => Promise<void>,
  more: Partial<StageOptions> = {},
) => play({ seed, tree: deepTree, ...more }, scenario);

export const reuse: Readonly<Record<string, Scenario>> = {
  "a run copies what has the same inputs, and computes the one pack that changed": () =>
    played(31, async (script) => {
      await afterOne(script);
      await script.submit({ ...request, id: "b", reuse: "a" });
      await script.untilEnded(1, "b");
      script.mustBe("complete", 1, "b");
      script.must(computedOf(script, "b") === "2", `only pack 2 is computed, not ${computedOf(script, "b")}`);
      script.must(script.run("b")?.manifests.get(1)?.attempts === 1, "the manifest counts one attempt");
    }),

  "a third run copies what the second has copied, after the first was deleted": () =>
    played(
      32,
      async (script) => {
        await afterOne(script);
        await script.submit({ ...request, id: "b", reuse: "a" });
        await script.untilEnded(1, "b");
        await script.tell("delete", "a");
        script.broken.fileOf = files({ 5: "new", 23: "newer" });
        await script.submit({ ...request, id: "c", reuse: "b" });
        await script.untilEnded(1, "c");
        script.mustBe("complete", 1, "c");
        script.must(computedOf(script, "c") === "11", "only the last pack is computed");
      },
      { large: true },
    ),

  "a run copies through a pause and a new leader, and computes nothing": () =>
    played(34, async (script) => {
      await afterOne(script);
      script.broken.fileOf = files();
      await script.submit({ ...request, id: "b", reuse: "a" });
      await script.until("it is planned", () => script.run("b")?.plan !== undefined);
      await script.tell("pause", "b");
      script.engine.instances[0]?.kill();
      script.start();
      await script.world.advance(20_000);
      await script.tell("resume", "b");
      await script.untilEnded(1, "b");
      script.mustBe("complete", 1, "b");
      script.must(computedOf(script, "b") === "", "nothing is computed");
    }),

  "the reused run is deleted while a run copies, which computes what is gone": () =>
    played(
      35,
      async (script) => {
        await afterOne(script);
        await script.submit({ ...request, id: "b", reuse: "a", cap: 2 });
        await script.until("one is copied", () => (script.run("b")?.copied.size ?? 0) > 0);
        await script.tell("delete", "a");
        await script.until("the earlier run is gone", () => script.run("a") === undefined);
        await script.untilEnded(1, "b");
        script.mustBe("complete", 1, "b");
      },
      { chunkMs: () => 5_000 },
    ),

  "the reused run is deleted before the plan of the later one, which computes everything": () =>
    played(36, async (script) => {
      await afterOne(script);
      for (const instance of script.engine.instances) instance.kill();
      await script.submit({ ...request, id: "b", reuse: "a" });
      await script.tell("delete", "a");
      script.start({ works: false, breakAfterMs: 4_000 });
      await script.until("the earlier run is gone", () => script.run("a") === undefined);
      script.start(workerOnly);
      await script.untilEnded(1, "b");
      script.must(script.run("b")?.copied.size === 0, "nothing is copied");
    }),

  "a run with a gap gives what it has, and the gap is computed": () =>
    played(37, async (script) => {
      await withGap(script);
      await script.submit({ ...request, id: "b", reuse: "a" });
      await script.untilEnded(1, "b");
      script.mustBe("complete", 1, "b");
      script.must(computedOf(script, "b") === "3", "only the gap is computed");
    }),

  "a run of a count copies each pack to where it was": () =>
    played(40, async (script) => {
      script.start({ breakAfterMs: 4_000 });
      script.start();
      await script.submit({ id: "a", chunks: 12, packSize: 2, keepPartials: true });
      await script.untilEnded(1, "a");
      await script.submit({ id: "b", chunks: 12, packSize: 2, reuse: "a" });
      await script.untilEnded(1, "b");
      script.mustBe("complete", 1, "b");
      script.must(script.run("b")?.copied.size === 6, "each is copied");
    }),

  "a partial that was changed by hand is not copied": () =>
    played(38, async (script) => {
      await afterOne(script);
      await spoil(script, "a", 7);
      await script.submit({ ...request, id: "b", reuse: "a" });
      await script.untilEnded(1, "b");
      script.mustBe("complete", 1, "b");
      script.must(computedOf(script, "b") === "2,7", "it is computed");
    }),

  "what other code computed is copied where the request takes it, and the manifest names both codes": () =>
    played(
      39,
      async (script) => {
        const { must, run } = script;
        await changeCode(script);
        const there = run("a")?.parts.size;
        await submitBy(script, after.code, {
          id: "b",
          chunks: 40,
          packSize: 1,
          reuse: "a",
          acceptCode: true,
        });
        await script.untilEnded(1, "b");
        script.mustBe("complete", 1, "b");
        const manifest = run("b")?.manifests.get(1);
        must(run("b")?.copied.size === there, "all that was there is copied");
        must(
          manifest?.mixed === true && manifest.code.join() === "ranges@1,ranges@2",
          "it says that both made it",
        );
        await submitBy(script, after.code, { id: "c", chunks: 40, packSize: 1, reuse: "b" });
        await script.untilEnded(1, "c");
        script.mustBe("complete", 1, "c");
        must(run("c")?.copied.size === 40 - (there ?? 0), "the next run takes what its own code computed");
        must(run("c")?.manifests.get(1)?.code.join() === "ranges@2", "and one code made it");
      },
      { chunkMs: () => 800 },
    ),
};
