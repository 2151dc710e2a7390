import { describe, expect, test } from "vitest";
import { common, computeOf, inlineCode, joining, workerWorld } from "./workerWorld.ts";

/** Nine packs in three shards, of which one pack may be missing. */
async function finished(members?: string) {
  const tree = { directPacksMax: 2, shardPacksMax: 4, fanIn: 2 };
  const world = await workerWorld(inlineCode(joining), { tree });
  await world.submit({ calculation: "joining", params: { chunks: 9 }, packSize: 1 });
  await world.work({ ...common, kind: "plan" });
  const plan = await world.plan();
  for (let pack = 0; pack < 9; pack += 1) await world.work(computeOf(plan, pack));
  for (const index of [0, 1, 2]) {
    const folded = index === 0 && members !== undefined ? { members } : {};
    await world.work({ ...common, kind: "combine", level: 1, index, ...folded });
  }
  for (const index of [0, 1]) await world.work({ ...common, kind: "combine", level: 2, index });
  const left = (prefix: string) => world.list("runs").filter((name) => name.startsWith(prefix)).length;
  return { world, left };
}

describe("clean-up", () => {
  test("keeps everything while there is no manifest", async () => {
    const { world, left } = await finished();
    await world.work({ ...common, kind: "cleanup", shard: 0 });
    await world.work({ ...common, kind: "cleanup" });
    expect([left("parts/"), left("nodes/")]).toEqual([9, 5]);
  });

  test("keeps everything of a result with gaps, so that a retry has it", async () => {
    const { world, left } = await finished("Aw");
    await world.work({ ...common, kind: "finish" });
    expect(await world.manifest()).toMatchObject({ complete: false, missing: [{ from: 2, to: 4 }] });
    await world.work({ ...common, kind: "cleanup", shard: 0 });
    await world.work({ ...common, kind: "cleanup" });
    expect([left("parts/"), left("nodes/")]).toEqual([9, 5]);
  });

  test("of a complete run deletes one shard's partials, or all nodes; a repeat deletes nothing", async () => {
    const { world, left } = await finished();
    await world.work({ ...common, kind: "finish" });
    await world.unmark();
    await world.work({ ...common, kind: "cleanup", shard: 1 });
    expect([left("parts/"), left("parts/00001/"), left("nodes/")]).toEqual([5, 0, 5]);
    await world.work({ ...common, kind: "cleanup" });
    expect([left("parts/"), left("nodes/")]).toEqual([5, 0]);
    await world.work({ ...common, kind: "cleanup" });
    for (const shard of [0, 2]) await world.work({ ...common, kind: "cleanup", shard });
    expect(world.list("runs")).toEqual(["r/spec.json", "plan.json"]);
  });
});
