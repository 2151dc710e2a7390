import { expect, test } from "vitest";
import { StorageError } from "../../src/engine/model/errors.ts";
import { packsOf, shardOf } from "../../src/engine/model/packs.ts";
import { runBlobs } from "../../src/engine/model/runBlobs.ts";
import { contentTypeIn, planOf } from "../support/runFixtures.ts";
import { leadOnTwin } from "./leadOnTwin.ts";

/** Runs side by side; when all that was sent is computed, each is cancelled with `keep`. Partials and those that count. */
async function keptOf(runs: number, packs = 300) {
  const twin = leadOnTwin();
  const plan = planOf(packs);
  const ids = Array.from({ length: runs }, (_, index) => `r${index}`);
  for (const id of ids) await twin.addRun(id, plan);
  await twin.lead(60_000);
  const there = new Map<string, number>();
  for (const id of ids) {
    const { cursor, layout } = await twin.stateOf(id);
    if (layout === undefined) throw new Error("no layout");
    expect(cursor).toBeLessThanOrEqual(packsOf(layout));
    for (let pack = 0; pack < cursor; pack += 1) {
      const name = runBlobs(id, `uid${id}`).part(shardOf(layout, pack), pack);
      const contentType = contentTypeIn(plan, id);
      await twin.storage.blobs.create(twin.names.runs, name, "x", { contentType });
    }
    there.set(id, cursor);
  }
  for (const id of ids) await twin.mark(id, { want: "cancelled", keep: "1", command: 1 });
  twin.nextTerm();
  await twin.lead(60_000);
  const lost: string[] = [];
  for (const id of ids) {
    const { packsDone, packsFailed } = await twin.stateOf(id);
    if (packsDone !== there.get(id))
      lost.push(`${id}: ${there.get(id)} partials, ${packsDone} kept, ${packsFailed} given up`);
  }
  return lost;
}

// More runs than a loop has list pages for: some are polled without a page for their shards.
test.each([
  [1, 300],
  [13, 200],
  [30, 300],
])(
  "%i runs that are cancelled with keep at once, of %i packs each, lose no partial that is there",
  async (runs, packs) => {
    expect(await keptOf(runs, packs)).toEqual([]);
  },
);

test("forty runs that share a deadline keep what was done before it", async () => {
  const twin = leadOnTwin();
  const deadline = { ms: 60_000, keep: true };
  const ids = Array.from({ length: 40 }, (_, index) => `r${index}`);
  for (const id of ids) await twin.addRun(id, planOf(200), { spec: { deadline } });
  const clock = twin.world.clock();
  // 150 of the 200 packs of each run: 100 early, 50 at 59 s, when the deadline is at 60 s.
  const done = (from: number, to: number) => {
    for (const id of ids)
      for (let pack = from; pack < to; pack += 1)
        void twin.storage.blobs.create(twin.names.runs, runBlobs(id, `uid${id}`).part(0, pack), "x", {
          contentType: contentTypeIn(planOf(200), id, 1_000, { deadline }),
        });
  };
  clock.after(30_000, () => done(0, 100));
  clock.after(59_500, () => done(100, 150));
  await twin.lead(120_000);
  const lost: string[] = [];
  for (const id of ids) {
    const { packsDone } = await twin.stateOf(id);
    if (packsDone < 150) lost.push(`${id}: 150 partials, ${packsDone} kept`);
  }
  expect(lost).toEqual([]);
});

const cancel = { want: "cancelled", keep: "1", command: 1 } as const;
const deadline = { deadline: { ms: 20_000, keep: true } };
test.each([
  ["is cancelled with keep keeps the packs that were sent before a send", {}, cancel, false],
  ["is past its deadline with keep keeps the packs that were sent before a send", deadline, undefined, false],
  ["is cancelled with keep keeps its packs of which each send", {}, cancel, true],
])("a run that %s of its leader got no reply", async (_, spec, command, each) => {
  const twin = leadOnTwin();
  const { storage, names, world } = twin;
  const plan = planOf(300);
  await twin.addRun("r", plan, { spec });
  const { send } = storage.queues;
  storage.queues.send = async (queue, text, options) => {
    const sent = await send(queue, text, options);
    if (text.includes(each ? '"kind":"compute"' : '"pack":200,'))
      throw new StorageError("busy", "", undefined, "no answer");
    return sent;
  };
  const contentType = contentTypeIn(plan, "r", 1_000, spec);
  world.clock().after(5_000, () => {
    for (let pack = 0; pack < 100; pack += 1) {
      const name = runBlobs("r", "uidr").part(shardOf(plan, pack), pack);
      void storage.blobs.create(names.runs, name, "x", { contentType });
    }
  });
  if (command !== undefined) world.clock().after(20_000, () => void twin.mark("r", command));
  await twin.lead(60_000);
  expect(await twin.stateOf("r")).toMatchObject({ keep: true, packsDone: 100, packsFailed: 200 });
});
