import { describe, expect, it } from "vitest";
import { clientLimits } from "../../src/engine/client/client.ts";
import { failures } from "../../src/engine/client/failures.ts";
import { status } from "../../src/engine/client/status.ts";
import { submit } from "../../src/engine/client/submit.ts";
import { resultBlobs, runBlobs, type Work } from "../../src/engine/model/runBlobs.ts";
import { clientWorld, names } from "./clientWorld.ts";

const pack = (number: number): Work => ({ kind: "pack", shard: 0, pack: number });
const failure = {
  v: 1,
  cause: "error",
  code: "calculation-threw",
  message: "chunk 7: boom (mine.ts:3)",
  attempts: 2,
  attemptsMax: 5,
  chunks: { from: 7, to: 8 },
  named: true,
};

async function working() {
  const world = await clientWorld();
  const run = await submit(world.client, { calculation: "sum", params: { to: 100 }, id: "r1" });
  await world.putState(run, { phase: "computing" });
  const blobs = runBlobs("r1", run.uid);
  const put = (name: string, body: unknown = failure): void =>
    world.storage.operator.overwriteBlob(
      names.runs,
      name,
      typeof body === "string" ? body : JSON.stringify(body),
    );
  const trying = async () => (await failures(world.client, "r1")).trying;
  return { ...world, run, blobs, put, trying };
}

describe("an attempt that failed at work that is still tried", () => {
  it("is listed apart from failures, with its error", async () => {
    const { client, blobs, put } = await working();
    put(blobs.tried(pack(1), 1, 2));
    const { v: _version, named: _named, ...told } = failure;
    expect(await failures(client, "r1")).toMatchObject({
      failures: [],
      trying: [{ work: "00000/00000001", pack: 1, generation: 1, send: 2, ...told }],
      more: false,
    });
  });

  it("is no longer listed once its send has ended in a record", async () => {
    const { client, blobs, put } = await working();
    for (const send of [1, 2]) put(blobs.tried(pack(1), 1, send));
    put(blobs.failure(pack(1), 1, 1));
    const found = await failures(client, "r1");
    expect([found.failures, found.trying].map((all) => all.map(({ send }) => send))).toEqual([[1], [2]]);
    expect((await failures(client, "r1", { max: 1 })).trying).toHaveLength(1);
  });

  it("counts against the most failures that are asked for by its chunk, not by its record", async () => {
    const { client, blobs, put } = await working();
    const first = [3, 5, 8].map((chunk) => ({
      chunk,
      code: "calculation-threw",
      message: `chunk ${chunk}: x`,
    }));
    put(blobs.failure(pack(0), 1, 1), { ...failure, gaps: { failed: 3, first } });
    put(blobs.failure(pack(1), 1, 1));
    for (const [max, chunks, more] of [
      [2, [3, 5], true],
      [4, [3, 5, 8, 7], false],
    ] as const) {
      const found = await failures(client, "r1", { max });
      expect([found.failures.map((one) => one.chunks?.from), found.more]).toEqual([chunks, more]);
    }
  });

  const works: readonly Work[] = [
    { kind: "plan" },
    pack(1),
    { kind: "node", level: 1, index: 0 },
    { kind: "finish" },
  ];
  it.each(works.map((work) => [work.kind, work] as const))(
    "is listed no more once the output of its %s is there",
    async (_kind, work) => {
      const { storage, run, blobs, put, trying } = await working();
      put(blobs.tried(work, 1, 1));
      expect(await trying()).toHaveLength(1);
      if (work.kind === "finish")
        storage.operator.overwriteBlob(names.results, resultBlobs("r1", run.uid).manifest(1), "{}");
      else put({ plan: blobs.plan, pack: blobs.part(0, 1), node: blobs.node(1, 1, 0) }[work.kind], "{}");
      expect(await trying()).toEqual([]);
    },
  );

  it.each(["complete", "failed", "cancelled"] as const)(
    "is not listed for a run that is %s",
    async (phase) => {
      const { run, blobs, put, putState, trying } = await working();
      put(blobs.tried(pack(1), 1, 1));
      await putState(run, { phase });
      expect(await trying()).toEqual([]);
    },
  );

  it("is not listed in the next generation", async () => {
    const { run, blobs, put, putState, trying } = await working();
    put(blobs.tried(pack(1), 1, 1));
    put(blobs.tried(pack(2), 2, 1));
    await putState(run, { phase: "computing", generation: 2 });
    expect((await trying()).map((one) => one.pack)).toEqual([2]);
  });

  it("is listed if it is one of the newest, in order of the work", async () => {
    const { world, blobs, put, trying } = await working();
    const { triedRead } = clientLimits;
    const packs = Array.from({ length: triedRead + 20 }, (_one, number) => number).reverse();
    for (const number of packs) {
      put(blobs.tried(pack(number), 1, 1));
      await world.advance(1_000);
    }
    const newest = packs.slice(-triedRead).sort((a, b) => a - b);
    expect((await trying()).map((one) => one.pack)).toEqual(newest);
  });
});

describe("the status of a run", () => {
  it("shows the latest failed attempt while the run works", async () => {
    const { client, run, putState } = await working();
    const trying = { work: "00000/00000001", code: "x", message: "chunk 7: no", attempts: 2, attemptsMax: 5 };
    await putState(run, { phase: "computing", trying });
    expect(await status(client, "r1")).toMatchObject({ trying });
    await putState(run, { phase: "failed", trying });
    expect(await status(client, "r1")).not.toHaveProperty("trying");
  });

  it("shows that a run finishes with what is done, and its deadline", async () => {
    const { client, run, putState, putMarker } = await working();
    await putState(run, { phase: "computing", command: 1, answer: "done" });
    await putMarker(run, { want: "cancelled", keep: "1", command: 1 });
    expect(await status(client, "r1")).toMatchObject({
      ...{ word: "computing", keep: true },
      command: { answer: "done" },
    });
    await putState(run, { phase: "finishing", command: 1, answer: "too-late" });
    expect(await status(client, "r1")).toMatchObject({ word: "finishing", keep: false });
    await putMarker(run);
    await putState(run, { phase: "finishing", keep: true });
    expect(await status(client, "r1")).toMatchObject({ word: "finishing", keep: true });
    await putState(run, { phase: "complete", keep: true });
    expect(await status(client, "r1")).toMatchObject({ keep: false });
    const limited = { calculation: "sum", params: { to: 1 }, id: "r2", deadline: { ms: 60_000, keep: true } };
    await submit(client, limited);
    const { submittedAt, deadline } = await status(client, "r2");
    expect(Date.parse(deadline?.at ?? "") - Date.parse(submittedAt)).toBe(60_000);
    expect(deadline?.keep).toBe(true);
    const retriedMs = Date.parse(submittedAt) + 3_600_000;
    await putState({ ...run, run: "r2", uid: (await status(client, "r2")).uid }, { retriedMs });
    expect((await status(client, "r2")).deadline?.at).toBe(new Date(retriedMs + 60_000).toISOString());
  });
});
