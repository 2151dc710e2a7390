import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { AnyCalculation } from "../../src/engine/calculation/contract.ts";
import { emptyBitmap, encodeBitmap, setBit } from "../../src/engine/model/bitmap.ts";
import type { WorkMessage } from "../../src/engine/model/message.ts";
import { packsOf, packsOfShard, shardOf, shardsOf, sizeOf } from "../../src/engine/model/packs.ts";
import type { Plan } from "../../src/engine/model/run.ts";
import { childrenOf, encodeGens, nodeCounts, topLevel } from "../../src/engine/model/tree.ts";
import { treeText } from "../support/plainTree.ts";
import { common, computeOf, inlineCode, joining, type WorkerWorld, workerWorld } from "./workerWorld.ts";

/** Which packs were folded, and in which generation each node was made: what a leader would have recorded. */
class Leader {
  readonly done = new Set<number>();
  readonly gens = new Map<string, number>();
  readonly world: WorkerWorld;
  readonly plan: Plan;
  constructor(world: WorkerWorld, plan: Plan) {
    this.world = world;
    this.plan = plan;
  }

  /** Computes these packs and folds the path above them in a generation. */
  async fold(gen: number, packs: readonly number[]): Promise<void> {
    const { plan, world } = this;
    for (const pack of packs) {
      this.done.add(pack);
      await world.work({ ...computeOf(plan, pack, gen), ...(pack % 3 === 0 ? {} : { tries: pack % 3 }) });
    }
    const touched = new Set(packs.map((pack) => shardOf(plan, pack)));
    for (const [place, count] of nodeCounts(plan).entries()) {
      const level = place + 1;
      for (let index = 0; index < count; index += 1) {
        const width = plan.fanIn ** (level - 1);
        const [from, to] = [index * width, (index + 1) * width];
        const above = gen === 1 || [...touched].some((shard) => shard >= from && shard < to);
        if (!above) continue;
        this.gens.set(`${level}/${index}`, gen);
        await world.work(this.combine(gen, level, index));
      }
    }
    const level = topLevel(plan);
    const top = { from: 0, to: nodeCounts(plan)[level - 1] ?? 0 };
    const terms = [{ term: 4, holder: "i" }];
    const what = level === 0 ? this.members(0) : this.childGens(level, top);
    await world.work({ ...common, gen, kind: "finish", terms, ...what });
  }

  combine(gen: number, level: number, index: number): WorkMessage {
    const what =
      level === 1 ? this.members(index) : this.childGens(level - 1, childrenOf(this.plan, level, index));
    return { ...common, gen, kind: "combine", level, index, ...what };
  }

  members(shard: number): { members?: string } {
    const packs = packsOfShard(this.plan, shard);
    const bits = emptyBitmap(sizeOf(packs));
    let all = true;
    for (let pack = packs.from; pack < packs.to; pack += 1) {
      if (this.done.has(pack)) setBit(bits, pack - packs.from);
      else all = false;
    }
    return all ? {} : { members: encodeBitmap(bits) };
  }

  childGens(level: number, { from, to }: { from: number; to: number }): { childGens: string } {
    const gens = Array.from(
      { length: to - from },
      (_, place) => this.gens.get(`${level}/${from + place}`) ?? 1,
    );
    return { childGens: encodeGens(gens) };
  }

  /** The result and manifest of a generation against a plain recursion over the chunks. */
  async expectRight(gen: number): Promise<void> {
    const { plan, world, done } = this;
    const manifest = await world.manifest(gen);
    const result: unknown = JSON.parse(
      Buffer.from(await world.bytesOf(world.names.results, manifest.blob)).toString(),
    );
    let folded = 0;
    const has = (chunk: number): boolean => done.has(Math.floor(chunk / plan.packSize));
    const missing: { from: number; to: number }[] = [];
    for (let chunk = 0; chunk < plan.chunks; chunk += 1) {
      if (has(chunk)) folded += 1;
      else if (missing.at(-1)?.to === chunk) (missing.at(-1) as { to: number }).to = chunk + 1;
      else missing.push({ from: chunk, to: chunk + 1 });
    }
    const text = treeText(plan.chunks, has) ?? "";
    expect(result).toEqual({ text, folded, count: plan.chunks });
    expect(manifest).toMatchObject({
      ...{ missing, folded, chunks: plan.chunks, complete: missing.length === 0 },
      ...{ generation: gen, packs: packsOf(plan), terms: [{ term: 4, holder: "i" }] },
      attempts: [...done].reduce((sum, pack) => sum + 1 + (pack % 3), 0),
      code: ["code 1"],
    });
  }
}

interface Shape {
  readonly chunks: number;
  readonly packSize: number;
  readonly directPacksMax: number;
  readonly shardPacksMax: number;
  readonly fanIn: number;
  readonly pad: number;
  readonly foldBytesMax: number;
  /** Which packs fail at first, and which for good; the list repeats. */
  readonly failing: readonly ("never" | "once" | "always")[];
}

const shapes: fc.Arbitrary<Shape> = fc.record({
  chunks: fc.nat(90),
  packSize: fc.integer({ min: 1, max: 6 }),
  directPacksMax: fc.integer({ min: 1, max: 6 }),
  shardPacksMax: fc.integer({ min: 1, max: 5 }),
  fanIn: fc.integer({ min: 2, max: 4 }),
  pad: fc.constantFrom(0, 5_000),
  foldBytesMax: fc.integer({ min: 1, max: 30_000 }),
  failing: fc.array(fc.constantFrom("never", "once", "always"), { minLength: 1, maxLength: 9 }),
});

/** Shows its own parenthesis, so that any other order or grouping gives another text. */
const grouping: AnyCalculation = {
  ...joining,
  merge: (a, b) => ({ text: `(${a.text} ${b.text})`, pad: a.pad }),
};

async function plannedWorld(shape: Shape) {
  const { chunks, packSize, pad, foldBytesMax, failing: _, ...tree } = shape;
  const world = await workerWorld(inlineCode(grouping), { tree, foldBytesMax });
  await world.submit({ calculation: "joining", params: { chunks, pad }, packSize });
  await world.work({ ...common, kind: "plan" });
  return { world, plan: await world.plan() };
}

describe("a tree of nodes", () => {
  test("of any shape, with gaps and a retry, gives what a plain recursion over the chunks gives", async () => {
    const depths = new Set<number>();
    const checked = fc.asyncProperty(shapes, async (shape) => {
      const { world, plan } = await plannedWorld(shape);
      depths.add(topLevel(plan));
      const leader = new Leader(world, plan);
      const fails = (pack: number) => shape.failing[pack % shape.failing.length] ?? "never";
      const packs = Array.from({ length: packsOf(plan) }, (_, pack) => pack);
      await leader.fold(
        1,
        packs.filter((pack) => fails(pack) === "never"),
      );
      await leader.expectRight(1);
      await world.mark({ generation: 2 });
      await leader.fold(
        2,
        packs.filter((pack) => fails(pack) === "once"),
      );
      await leader.expectRight(2);
      expect(world.log.filter(({ event }) => event !== "work-done")).toEqual([]);
    });
    await fc.assert(checked, { numRuns: 120 });
    expect(Math.max(...depths)).toBeGreaterThanOrEqual(3);
  });

  const deep = { directPacksMax: 2, shardPacksMax: 2, fanIn: 2, pad: 0, foldBytesMax: 30_000 };

  test("stores the hashes of each shard's packs, and names those packs", async () => {
    const { world, plan } = await plannedWorld({ ...deep, chunks: 8, packSize: 1, failing: [] });
    await new Leader(world, plan).fold(1, [0, 1, 3, 4, 5, 6, 7]);
    expect(shardsOf(plan)).toBe(4);
    const shards = [0, 1].map((shard) =>
      world.storage.blobs.read(world.names.results, `r/u/001/hashes/0000${shard}`),
    );
    const [whole, gapped] = await Promise.all(shards);
    expect(whole).toMatchObject({ body: { length: 64 }, properties: { metadata: {} } });
    expect(gapped).toMatchObject({ body: { length: 32 }, properties: { metadata: { members: "Ag" } } });
  });

  test.each([
    ["a level that is not there", { level: 4, index: 0 }],
    ["an index that is not there", { level: 2, index: 2 }],
    ["generations of other nodes", { level: 2, index: 0, childGens: "1x3" }],
    ["generations that are none", { level: 2, index: 0, childGens: "1,x" }],
  ])("%s is no work: the message is recorded as dropped", async (_what, where) => {
    const { world, plan } = await plannedWorld({ ...deep, chunks: 8, packSize: 1, failing: [] });
    await new Leader(world, plan).fold(1, [0, 1, 2, 3, 4, 5, 6, 7]);
    const before = world.list("runs");
    await world.work({ ...common, kind: "combine", ...where });
    const added = world.list("runs").filter((name) => !before.includes(name));
    expect(added).toEqual([expect.stringMatching(/^_dropped\//)]);
  });

  test("a missing child node ends the send as storage-lost", async () => {
    const { world, plan } = await plannedWorld({ ...deep, chunks: 8, packSize: 1, failing: [] });
    const leader = new Leader(world, plan);
    await leader.fold(1, [0, 1, 2, 3, 4, 5, 6, 7]);
    await world.mark({ generation: 2 });
    const message: WorkMessage = { ...common, gen: 2, kind: "combine", level: 2, index: 1, childGens: "1,2" };
    await world.work(message);
    const record = JSON.parse(
      Buffer.from(await world.bytesOf(world.names.runs, "r/u/failed/node/2/00001.002.001")).toString(),
    );
    expect(record).toMatchObject({ cause: "storage-lost", message: "level 1: the node 3 is not there" });
  });

  test("gaps that do not add up give no result, and the attempt is repeated later", async () => {
    const { world, plan } = await plannedWorld({ ...deep, chunks: 8, packSize: 1, failing: [] });
    const leader = new Leader(world, plan);
    await leader.fold(1, [0, 1, 3, 4, 5, 6, 7]);
    // A shard's node of the next generation that the node above does not have.
    await world.mark({ generation: 2 });
    await world.work(computeOf(plan, 2, 2));
    await world.work({ ...common, gen: 2, kind: "combine", level: 1, index: 1 });
    const finish: WorkMessage = { ...common, gen: 2, kind: "finish", childGens: "1x2" };
    await world.work(finish);
    expect(world.log.at(-1)).toMatchObject({
      event: "work-failed",
      fields: { message: expect.stringMatching(/7 of 8 chunks were folded/), last: false },
    });
    expect(await world.messages("urgent")).toEqual([]);
    await world.world.advance(31_000);
    expect(await world.messages("urgent")).toEqual([{ ...finish, tries: 1 }]);
    expect(world.list("results").filter((name) => /manifest|result/.test(name))).toEqual([
      expect.stringMatching(/^001\/1-1-.*\/result\.json$/),
      "001/manifest.json",
    ]);
  });
});
