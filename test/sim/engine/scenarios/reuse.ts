import { play, type Script, workerOnly } from "../script.ts";
import { deepTree, type StageOptions } from "../stage.ts";
import type { Scenario } from "./scenarios.ts";

const request = { chunks: 24, packSize: 2, list: true } as const;

/** Files that have these contents, and `same` otherwise. */
const files =
  (changed: Readonly<Record<number, string>> = {}) =>
  (chunk: number): string =>
    changed[chunk] ?? "same";

/** The packs that were sent for a run in its first generation, ascending. */
const sentOf = (script: Script, id: string): string => sentIn(script, id, 1);

/** Those of one generation. */
function sentIn({ run }: Script, id: string, generation: number): string {
  const sent = run(id)?.sent.filter(({ message }) => message.gen === generation) ?? [];
  const packs = sent.flatMap(({ message }) => (message.kind === "compute" ? [message.pack] : []));
  return [...new Set(packs)].sort((a, b) => a - b).join();
}

/** A complete run `a` that has kept its partials; then chunk 5 changes, which is in pack 2. */
async function afterOne(script: Script): Promise<void> {
  script.start({ breakAfterMs: 4_000 });
  script.start();
  script.broken.fileOf = files();
  await script.submit({ ...request, id: "a", reuse: true });
  await script.untilEnded(1, "a");
  script.mustBe("complete", 1, "a");
  script.broken.fileOf = files({ 5: "new" });
}

/** A complete run `a` with a gap, pack 3, which keeps its partials only with `reuse`. */
async function withGap(script: Script, more: { readonly reuse?: true } = {}): Promise<void> {
  script.start({ breakAfterMs: 4_000 });
  script.start();
  script.broken.fileOf = files();
  script.broken.chunks.add(7);
  await script.submit({ ...request, ...more, id: "a", tolerate: { chunks: 2 } });
  await script.untilEnded(1, "a");
  script.broken.chunks.clear();
}

const played = (
  seed: number,
  scenario: (script: Script) => Promise<void>,
  more: Partial<StageOptions> = {},
) => play({ seed, tree: deepTree, ...more }, scenario);

export const reuse: Readonly<Record<string, Scenario>> = {
  "a run reuses what has the same inputs, and computes the one pack that changed": () =>
    played(31, async (script) => {
      await afterOne(script);
      await script.submit({ ...request, id: "b", reuse: true });
      await script.untilEnded(1, "b");
      script.mustBe("complete", 1, "b");
      const { reused } = script.run("b")?.manifests.get(1) ?? {};
      script.must(sentOf(script, "b") === "2", `only pack 2 is sent, not ${sentOf(script, "b")}`);
      script.must(
        reused?.packs === 11 && reused.runs.join() === "a",
        "the manifest says how many, and whence",
      );
    }),

  "a third run reuses partials of the first two, each where it stands": () =>
    played(
      32,
      async (script) => {
        await afterOne(script);
        await script.submit({ ...request, id: "b", reuse: "a" });
        await script.untilEnded(1, "b");
        script.broken.fileOf = files({ 5: "new", 23: "newer" });
        await script.submit({ ...request, id: "c", reuse: "b" });
        await script.untilEnded(1, "c");
        script.mustBe("complete", 1, "c");
        const { reused } = script.run("c")?.manifests.get(1) ?? {};
        script.must(sentOf(script, "c") === "11", "only the last pack is sent");
        script.must(reused?.packs === 11 && reused.runs.join() === "a,b", "both runs are named");
      },
      { large: true },
    ),

  "a file that changes back has its partial in the first run, which the second does not reuse": () =>
    played(33, async (script) => {
      await afterOne(script);
      await script.submit({ ...request, id: "b", reuse: "a" });
      await script.untilEnded(1, "b");
      script.broken.fileOf = files();
      await script.submit({ ...request, id: "c", reuse: "a" });
      await script.untilEnded(1, "c");
      script.mustBe("complete", 1, "c");
      script.must(sentOf(script, "c") === "", "nothing is computed");
    }),

  "a run that reuses everything sends no pack, through a pause and a new leader": () =>
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
      script.must(sentOf(script, "b") === "", "nothing is computed");
    }),

  "the earlier run is deleted while a later one stands on it, which fails and computes what is lost in a retry":
    () =>
      played(
        35,
        async (script) => {
          await afterOne(script);
          await script.submit({ ...request, id: "b", reuse: "a" });
          await script.until("it is planned", () => script.run("b")?.plan !== undefined);
          await script.tell("pause", "b");
          await script.tell("delete", "a");
          await script.until("the earlier run is gone", () => script.run("a") === undefined);
          await script.tell("resume", "b");
          await script.untilEnded(1, "b");
          script.mustBe("failed", 1, "b");
          script.must(script.run("b")?.state?.error?.code === "storage-lost", "it says what is lost");
          await script.tell("retry", "b");
          await script.untilEnded(2, "b");
          script.mustBe("complete", 2, "b");
          script.must(script.run("b")?.manifests.get(2)?.reused === undefined, "nothing was reused");
        },
        { chunkMs: () => 5_000 },
      ),

  "a gapped run that a later one stands on is retried and complete, and keeps its partials": () =>
    played(
      40,
      async (script) => {
        await withGap(script);
        script.broken.fileOf = files({ 20: "new" });
        await script.submit({ ...request, id: "b", reuse: "a" });
        await script.until("it is planned", () => script.run("b")?.plan !== undefined);
        await script.tell("pause", "b");
        await script.tell("retry", "a");
        await script.untilEnded(2, "a");
        script.mustBe("complete", 2, "a");
        await script.tell("resume", "b");
        await script.untilEnded(1, "b");
        script.mustBe("complete", 1, "b");
        script.must(sentOf(script, "b") === "3,10", "the gap and the change are computed");
      },
      { chunkMs: () => 3_000 },
    ),

  "a run reuses a gapped one that was retried, and no node from before the retry": () =>
    played(43, async (script) => {
      await withGap(script, { reuse: true });
      await script.tell("retry", "a");
      await script.untilEnded(2, "a");
      script.mustBe("complete", 2, "a");
      script.broken.fileOf = files({ 20: "new" });
      await script.submit({ ...request, id: "b", reuse: "a" });
      await script.untilEnded(1, "b");
      script.mustBe("complete", 1, "b");
      script.must(sentOf(script, "b") === "10", "only the change is computed");
    }),

  "the earlier run is deleted before the plan of the later one, which computes everything": () =>
    played(36, async (script) => {
      await afterOne(script);
      for (const instance of script.engine.instances) instance.kill();
      await script.submit({ ...request, id: "b", reuse: "a" });
      await script.tell("delete", "a");
      script.start({ works: false, breakAfterMs: 4_000 });
      await script.until("the earlier run is gone", () => script.run("a") === undefined);
      script.start(workerOnly);
      await script.untilEnded(1, "b");
      script.mustBe("complete", 1, "b");
      script.must(script.run("b")?.plan?.reused === undefined, "nothing is reused");
    }),

  "a failed run gives what it computed, and its gap is computed": () =>
    played(37, async (script) => {
      await withGap(script);
      await script.submit({ ...request, id: "b", reuse: true });
      await script.untilEnded(1, "b");
      script.mustBe("complete", 1, "b");
      script.must(sentOf(script, "b") === "3", "only the gap is computed");
    }),
};
