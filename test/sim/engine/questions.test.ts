import { describe, expect, it } from "vitest";
import { command } from "../../../src/engine/client/commands/command.ts";
import { soFar } from "../../../src/engine/client/questions/soFar.ts";
import { verify } from "../../../src/engine/client/questions/verify.ts";
import { resultBlobs, runBlobs } from "../../../src/engine/model/runBlobs.ts";
import { type EngineWorld, engineWorld, simNames } from "../../support/engineWorld.ts";

const everything = { sample: { percent: 100 } } as const;

const answersLeft = ({ storage }: EngineWorld): string[] =>
  storage.operator.blobNames(simNames.results).filter((name) => name.includes("/answers/"));

/** The answer so far, whose bytes are the very ranges folded into it. */
async function askSoFar(engine: EngineWorld) {
  const asking = soFar(engine.client, "r", {}, async (_answer, body) => {
    const pieces: Uint8Array[] = [];
    for await (const piece of body) pieces.push(piece);
    return JSON.parse(Buffer.concat(pieces).toString()) as [number, number][];
  });
  return engine.world.finish(asking, 120_000);
}

describe("a client asks what there is so far", () => {
  it.each([
    { chunks: 3_000, chunkMs: 60, shards: "nodes and open shards" },
    { chunks: 1_200, chunkMs: 150, shards: "the packs of a small run" },
  ])("and gets the fold of $shards, in which each chunk counts once", async ({ chunks, chunkMs }) => {
    const engine = engineWorld({ code: { chunkMs: () => chunkMs } });
    for (let count = 0; count < 3; count += 1) engine.start();
    await engine.submit({ id: "r", chunks, packSize: 10 });
    const folded: number[] = [];
    for (let asked = 0; asked < 4; asked += 1) {
      await engine.world.advance(4_000);
      const told = await askSoFar(engine);
      if (told.kind === "finished") throw new Error("the run ended too soon");
      const { answer, value } = told;
      expect(value).toEqual(answer.covers.map(({ from, to }) => [from, to]));
      expect(answer.folded).toBe(answer.covers.reduce((sum, { from, to }) => sum + to - from, 0));
      expect(answer.chunks).toBe(chunks);
      folded.push(answer.folded);
    }
    expect(folded).toEqual([...folded].sort((a, b) => a - b));
    expect(folded[0]).toBeGreaterThan(0);
    expect(folded.at(-1)).toBeGreaterThan(chunks / 4);
    expect(answersLeft(engine)).toEqual([]);
    await engine.untilEnd("r");
    expect(await engine.result("r")).toBe(`[[0,${chunks}]]`);
    expect(await askSoFar(engine)).toMatchObject({ kind: "finished", manifest: { complete: true } });
  });
});

it("after a cancelled retry, what is so far is that of the retry and not the result before it", async () => {
  const engine = engineWorld({ code: { chunkMs: () => 200 } });
  for (let count = 0; count < 3; count += 1) engine.start();
  await engine.submit({ id: "r", chunks: 3_000, packSize: 10 });
  await engine.world.advance(8_000);
  await engine.world.finish(command(engine.client, "r", { kind: "cancel", keep: true }));
  await engine.untilEnd("r");
  const before = await engine.manifest("r", 1);
  await engine.world.finish(command(engine.client, "r", { kind: "retry" }));
  await engine.world.advance(8_000);
  await engine.world.finish(command(engine.client, "r", { kind: "cancel" }));
  await engine.world.advance(10_000);
  const { phase, generation, chunksDone = 0 } = (await engine.state("r")) ?? {};
  expect({ phase, generation }).toEqual({ phase: "cancelled", generation: 2 });
  const told = await askSoFar(engine);
  if (told.kind === "finished") throw new Error(`the result of generation ${told.manifest.generation}`);
  expect(told.value).toEqual(told.answer.covers.map(({ from, to }) => [from, to]));
  expect(told.answer.folded).toBeGreaterThan(before?.folded ?? 3_000);
  expect(told.answer.folded).toBeGreaterThanOrEqual(chunksDone);
});

describe("a client verifies a run", () => {
  it("whose partials were cleaned up long ago, and finds every pack equal", async () => {
    const engine = engineWorld({ code: { chunkMs: () => 5 } });
    for (let count = 0; count < 3; count += 1) engine.start();
    await engine.submit({ id: "r", chunks: 3_001, packSize: 10 });
    const { uid } = await engine.untilEnd("r");
    await engine.world.advance(30_000);
    const parts = engine.storage.operator.blobNames(simNames.runs);
    expect(parts.filter((name) => name.startsWith(runBlobs("r", uid).parts))).toEqual([]);

    const all = await engine.world.finish(verify(engine.client, "r", everything), 600_000);
    expect(all).toMatchObject({ packs: { total: 301, drawn: 301, equal: 301 }, others: [], allEqual: true });
    const few = await engine.world.finish(verify(engine.client, "r"), 600_000);
    expect(few.packs).toMatchObject({ drawn: 4, equal: 4 });
    expect(answersLeft(engine)).toEqual([]);
  });

  it("of two generations, and finds the one pack that was tampered with", async () => {
    let broken = true;
    const engine = engineWorld({
      code: {
        chunkMs: () => 5,
        onChunk(chunk) {
          if (broken && (chunk === 125 || chunk === 2_222)) throw new Error("not today");
        },
      },
    });
    for (let count = 0; count < 3; count += 1) engine.start();
    await engine.submit({ id: "r", chunks: 3_000, packSize: 10, tolerate: { chunks: 20 } });
    const { uid } = await engine.untilEnd("r");
    broken = false;
    const gapped = await engine.world.finish(verify(engine.client, "r", everything), 600_000);
    expect(gapped).toMatchObject({ generation: 1, packs: { missing: 2, drawn: 298, equal: 298 } });

    await engine.world.finish(command(engine.client, "r", { kind: "retry" }));
    while ((await engine.manifest("r", 2)) === undefined) await engine.world.advance(1_000);
    const whole = await engine.world.finish(verify(engine.client, "r", everything), 600_000);
    expect(whole).toMatchObject({
      generation: 2,
      packs: { missing: 0, drawn: 300, equal: 300 },
      allEqual: true,
    });

    const { hashes } = resultBlobs("r", uid);
    const name = hashes(1, 5);
    const found = await engine.storage.blobs.read(simNames.results, name);
    if (found.kind === "missing") throw new Error("the hashes of a shard that was whole are of generation 1");
    engine.storage.operator.overwriteBlob(
      simNames.results,
      name,
      found.body.with(40, 1 ^ (found.body[40] ?? 0)),
    );
    const tampered = await engine.world.finish(verify(engine.client, "r", everything), 600_000);
    expect(tampered.packs).toMatchObject({ equal: 299, different: 1 });
    expect(tampered.others).toEqual([expect.objectContaining({ outcome: "different" })]);
  });

  it("whose storage held a forged partial, and finds that pack: nothing else can tell it", async () => {
    const engine = engineWorld({ code: { chunkMs: () => 50 } });
    engine.start();
    await engine.submit({ id: "r", chunks: 500, packSize: 8 });
    const { blobs } = engine.storage;
    while ((await engine.state("r"))?.layout === undefined) await engine.world.advance(100);
    const { uid = "" } = (await engine.state("r")) ?? {};
    const forged = runBlobs("r", uid).part(0, 7);
    for (;;) {
      const there = await blobs.head(simNames.runs, forged);
      await engine.world.advance(50);
      if (there.kind === "missing") continue;
      const { contentType, etag: ifMatch } = there.properties;
      const metadata = { inline: "1", data: Buffer.from("[[56,61]]").toString("base64url") };
      await blobs.replace(simNames.runs, forged, "[[56,61]]", { contentType, metadata, ifMatch });
      break;
    }
    await engine.untilEnd("r");
    expect(await engine.result("r")).toBe("[[0,61],[64,500]]");
    expect(await engine.manifest("r")).toMatchObject({ complete: true, folded: 500 });
    const found = await engine.world.finish(verify(engine.client, "r", everything), 600_000);
    expect(found).toMatchObject({ packs: { drawn: 63, equal: 62, different: 1 }, allEqual: false });
    expect(found.others).toEqual([expect.objectContaining({ pack: 7, outcome: "different" })]);
  });
});
