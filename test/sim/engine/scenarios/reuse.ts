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

  "a retry of changed inputs computes what is missing and what has changed, and names what it kept": () =>
    played(38, async (script) => {
      await withGap(script);
      script.broken.fileOf = files({ 7: "mended", 20: "new" });
      await script.tell({ kind: "retry", redo: "changed-inputs" }, "a");
      await script.untilEnded(2, "a");
      script.mustBe("complete", 2, "a");
      script.must(sentIn(script, "a", 2) === "3,10", "two packs are computed");
      const { reused } = script.run("a")?.manifests.get(2) ?? {};
      script.must(reused?.packs === 10 && reused.runs.join() === "a", "the manifest says how many were kept");
    }),

  "a retry of changed inputs that is cancelled is tried again twice, and each plan stands on those before":
    () =>
      played(
        39,
        async (script) => {
          await afterOne(script);
          for (const [generation, chunk] of [
            [2, 9],
            [3, 15],
          ] as const) {
            script.broken.fileOf = files({ 5: "new", [chunk]: "newer" });
            await script.tell({ kind: "retry", redo: "changed-inputs" }, "a");
            await script.until("a pack is sent", () => sentIn(script, "a", generation) !== "");
            await script.tell("cancel", "a");
            await script.untilEnded(generation, "a");
          }
          await script.tell("retry", "a");
          await script.untilEnded(4, "a");
          script.mustBe("complete", 4, "a");
          script.must(sentIn(script, "a", 4).includes("7"), "what was cancelled is computed");
          await script.tell({ kind: "retry", redo: "recompute" }, "a");
          await script.untilEnded(5, "a");
          script.must(script.run("a")?.manifests.get(5)?.reused === undefined, "nothing is reused");
        },
        { chunkMs: () => 3_000 },
      ),

  "a retry of changed inputs that ended before its plan is tried again and reuses what was there before":
    () =>
      played(41, async (script) => {
        await withGap(script);
        for (const [id, generation] of [
          ["b", 1],
          ["a", 2],
        ] as const) {
          script.broken.doom = ({ kind }, run) => (kind === "plan" && run === id ? "hangs" : undefined);
          if (generation === 1) await script.submit({ ...request, id, reuse: "a" });
          else await script.tell({ kind: "retry", redo: "changed-inputs" }, id);
          await script.world.advance(5_000);
          await script.tell("cancel", id);
          await script.untilEnded(generation, id);
          script.broken.doom = undefined;
          await script.tell({ kind: "retry", redo: "changed-inputs" }, id);
          await script.untilEnded(generation + 1, id);
          script.mustBe("complete", generation + 1, id);
          script.must(sentIn(script, id, generation + 1) === "3", `of ${id} only the gap is computed`);
        }
      }),

  "a complete run is retried for changed inputs before its partials are deleted, and computes everything":
    () =>
      played(42, async (script) => {
        script.start({ breakAfterMs: 4_000 });
        script.start();
        script.broken.fileOf = files();
        const planned = Promise.withResolvers<void>();
        script.hold = ({ op }) => (op === "blobs.removeMany" ? planned.promise : undefined);
        await script.submit({ ...request, id: "a" });
        await script.untilEnded(1, "a");
        script.start();
        await script.tell({ kind: "retry", redo: "changed-inputs" }, "a");
        await script.until("it is planned", () => script.run("a")?.origin === 2);
        planned.resolve();
        await script.untilEnded(2, "a");
        script.mustBe("complete", 2, "a");
        script.must(script.run("a")?.plan?.reused === undefined, "nothing is reused");
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
