import { describe, expect, it } from "vitest";
import { clientLimits } from "../../../src/engine/client/client.ts";
import { type VerifyOptions, verify } from "../../../src/engine/client/questions/verify.ts";
import { readPlan, requireSpec } from "../../../src/engine/client/runDocuments.ts";
import { submit } from "../../../src/engine/client/submit.ts";
import { emptyBitmap, encodeBitmap, setBit } from "../../../src/engine/model/bitmap.ts";
import type { Verified } from "../../../src/engine/model/output.ts";
import type { Manifest } from "../../../src/engine/model/run.ts";
import { resultBlobs, runBlobs, specBlob } from "../../../src/engine/model/runBlobs.ts";
import { specOf } from "../../support/runFixtures.ts";
import { clientWorld, failureOf, names } from "../clientWorld.ts";
import { answersLeft, sha256 } from "./answeringWorker.ts";
import { finishedRun, right, type VerifyAsk, verifyingWorker } from "./finishedRun.ts";

async function finished(change: Partial<Manifest> = {}) {
  const inner = await clientWorld();
  const made = await finishedRun(inner, change);
  const verified = (answer: (ask: VerifyAsk) => Verified | undefined, options?: VerifyOptions) => {
    const asked = verifyingWorker(inner, answer);
    return { asked, ended: inner.world.finish(verify(inner.client, "r1", options), 3_600_000) };
  };
  return { ...inner, ...made, verified };
}

describe("verifying a run", () => {
  it("computes one pack in a hundred again, sends nothing else and leaves nothing behind", async () => {
    const world = await finished();
    const { asked, ended } = world.verified(right);
    const found = await ended;
    expect(found).toMatchObject({
      run: "r1",
      generation: 1,
      result: { sha256: sha256("499500"), equal: true },
      packs: { total: 100, missing: 0, drawn: 1, equal: 1, different: 0, unanswered: 0 },
      others: [],
      allEqual: true,
    });
    expect(asked).toHaveLength(1);
    expect(asked[0]).toMatchObject({ kind: "verify", run: "r1", gen: 1, send: 1, turn: 0 });
    expect(answersLeft(world)).toEqual([]);
  });

  it("sends every pack once", async () => {
    const world = await finished();
    const progress: number[] = [];
    const { asked, ended } = world.verified(right, {
      sample: { percent: 100 },
      onProgress: (answered) => progress.push(answered),
    });
    expect(await ended).toMatchObject({ packs: { drawn: 100, equal: 100 }, allEqual: true });
    expect(asked.map(({ pack }) => pack).sort((a, b) => a - b)).toEqual([...Array(100).keys()]);
    expect(progress.at(-1)).toBe(100);
  });

  it("has at most the limit of packs in flight", async () => {
    const world = await finished();
    const { asked, ended } = world.verified(() => undefined, { sample: { percent: 100 }, waitMs: 20_000 });
    expect((await ended).packs).toMatchObject({ drawn: 100, unanswered: 100 });
    expect(asked).toHaveLength(clientLimits.verifyAtOnce);
  });

  it("reports packs that differ, fail or get no answer, with their chunks and the error", async () => {
    const world = await finished();
    const error = { code: "calculation-threw", message: "pack 4: no\nmore" };
    const { ended } = world.verified(
      (ask) => {
        if (ask.pack === 3) return { sha256: sha256("other"), ms: 1 };
        if (ask.pack === 4) return { error };
        return ask.pack === 5 ? undefined : right(ask);
      },
      { sample: { percent: 100 }, waitMs: 5_000 },
    );
    const found = await ended;
    expect(found.packs).toMatchObject({ equal: 97, different: 1, failed: 1, unanswered: 1 });
    expect(found.others).toEqual([
      { pack: 3, chunks: { from: 30, to: 40 }, outcome: "different" },
      { pack: 4, chunks: { from: 40, to: 50 }, outcome: "failed", error },
      { pack: 5, chunks: { from: 50, to: 60 }, outcome: "unanswered" },
    ]);
    expect(found.allEqual).toBe(false);
    expect(answersLeft(world)).toEqual([]);
  });

  it("compares with the hashes of the newest generation that has a shard, and draws no gap", async () => {
    const missing = [{ from: 0, to: 20 }];
    const world = await finished({ generation: 2, complete: false, missing, folded: 980 });
    const bits = emptyBitmap(10);
    for (let place = 2; place < 10; place += 1) setBit(bits, place);
    await world.putHashes(2, 0, [2, 3, 4, 5, 6, 7, 8, 9], encodeBitmap(bits));
    // A generation that came to no result says nothing about this one.
    await world.putHashes(3, 1, [0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    const { asked, ended } = world.verified(right, { sample: { percent: 100 } });
    expect(await ended).toMatchObject({
      generation: 2,
      packs: { total: 100, missing: 2, drawn: 98, equal: 98 },
      allEqual: true,
    });
    expect(asked.every(({ gen, pack }) => gen === 2 && pack >= 2)).toBe(true);
  });

  it("reports a pack of the result without a hash, and does not compute it again", async () => {
    const world = await finished();
    world.storage.operator.deleteBlob(names.results, resultBlobs("r1", world.run.uid).hashes(1, 0));
    const { asked, ended } = world.verified(right, { sample: { percent: 100 } });
    const found = await ended;
    expect(found.packs).toMatchObject({ "not-folded": 10, equal: 90 });
    expect(found.others[0]).toEqual({ pack: 0, chunks: { from: 0, to: 10 }, outcome: "not-folded" });
    expect([found.allEqual, asked.length]).toEqual([false, 90]);
  });

  it("reports a result whose bytes differ from its manifest", async () => {
    const world = await finished();
    world.storage.operator.overwriteBlob(names.results, world.manifest.blob, "499501");
    const found = await world.verified(right).ended;
    expect([found.result.equal, found.packs.equal, found.allEqual]).toEqual([false, 1, false]);
  });

  it("draws nothing from a run without chunks", async () => {
    const world = await finished({ chunks: 0, folded: 0, packs: 0 });
    world.putPlan({ chunks: 0 });
    expect(await world.verified(right).ended).toMatchObject({ packs: { total: 0, drawn: 0 }, others: [] });
  });

  it("ends with the signal and counts open packs as unanswered", async () => {
    const world = await finished();
    const controller = new AbortController();
    const { ended } = world.verified(() => undefined, { sample: { packs: 7 }, signal: controller.signal });
    world.client.clock.after(3_000, () => controller.abort());
    expect(await ended).toMatchObject({ packs: { drawn: 7, unanswered: 7 }, allEqual: false });
    expect(world.world.nowMs()).toBeLessThan(10_000);
  });

  it("fails for hashes that do not fit their shard, a missing plan and a run without a result", async () => {
    const world = await finished();
    const { hashes } = resultBlobs("r1", world.run.uid);
    world.storage.operator.overwriteBlob(names.results, hashes(1, 3), "short");
    const all = { sample: { percent: 100 } } as const;
    expect(await failureOf(verify(world.client, "r1", all))).toMatchObject({ code: "bad-hashes" });
    world.storage.operator.deleteBlob(names.runs, runBlobs("r1", world.run.uid).plan);
    expect(await failureOf(verify(world.client, "r1"))).toMatchObject({ code: "plan-missing" });
    await submit(world.client, { calculation: "sum", params: { to: 1 }, id: "r2" });
    expect(await failureOf(verify(world.client, "r2"))).toMatchObject({ code: "not-finished" });
  });
});

describe("the documents that a result was computed from", () => {
  const spec = specBlob("r1");
  const put = ({ storage }: Awaited<ReturnType<typeof finished>>, name: string, document: unknown): void =>
    storage.operator.overwriteBlob(names.runs, name, JSON.stringify(document));

  /** A run that state and manifest name the documents of. */
  async function recorded(change: Partial<Manifest> = {}) {
    const world = await finished(change);
    const plan = await readPlan(world.client, world.run);
    const of = { spec: (await requireSpec(world.client, "r1")).sha256, plan: plan.sha256 };
    await world.putState(world.run, { phase: "complete", ...of });
    await world.putResult(world.run, "499500", { ...world.manifest, ...of, ...change });
    return { ...world, of };
  }

  it("are told as what was recorded", async () => {
    const found = await (await recorded()).verified(right).ended;
    expect(found).toMatchObject({
      documents: { spec: "equal", plan: "equal", inputs: "none" },
      allEqual: true,
    });
  });

  it("are asked for by the hashes in the manifest, so that workers refuse others", async () => {
    const world = await recorded();
    const { asked, ended } = world.verified(right);
    await ended;
    expect(asked[0]).toMatchObject(world.of);
  });

  it("are found to differ though every pack is equal: the spec", async () => {
    const world = await recorded();
    const { value } = await requireSpec(world.client, "r1");
    put(world, spec, { ...value, given: { to: 5 } });
    const found = await world.verified(right, { sample: { percent: 100 } }).ended;
    expect(found).toMatchObject({ documents: { spec: "different", plan: "equal" }, allEqual: false });
    put(world, spec, specOf({ ...value, params: { to: 5 } }));
    expect(await world.verified(right).ended).toMatchObject({ documents: { spec: "different" } });
    put(world, spec, { ...value, params: { to: 5 } });
    expect(await failureOf(verify(world.client, "r1"))).toMatchObject({ code: "spec-differs" });
  });

  it("are found to differ though every pack is equal: the plan", async () => {
    const world = await recorded();
    world.putPlan({ packMs: 1 });
    const found = await world.verified(right, { sample: { percent: 100 } }).ended;
    expect(found).toMatchObject({ documents: { spec: "equal", plan: "different" }, allEqual: false });
  });

  it("are found to differ where the manifest names another than the state does", async () => {
    const world = await recorded({ spec: "b".repeat(64) });
    expect(await world.verified(right).ended).toMatchObject({ documents: { spec: "different" } });
  });

  it("are inputs as well, of the packs that are drawn", async () => {
    const world = await finished();
    const bodies = [0, 500].map((from) => JSON.stringify({ v: 1, from, inputs: Array(500).fill(from) }));
    const segments = { attempt: "1-1-a", starts: [0, 500], sha256: bodies.map((body) => sha256(body)) };
    world.putPlan({ segments });
    const { segment } = runBlobs("r1", world.run.uid);
    for (const [number, body] of bodies.entries())
      await world.storage.blobs.create(names.runs, segment("1-1-a", number), body);
    const all = { sample: { percent: 100 } };
    expect(await world.verified(right, all).ended).toMatchObject({ documents: { inputs: "equal" } });
    put(world, segment("1-1-a", 1), { v: 1, from: 500, inputs: [] });
    expect(await world.verified(right, all).ended).toMatchObject({
      documents: { inputs: "different" },
      allEqual: false,
    });
  });
});
