import { expect, test } from "vitest";
import { StorageError } from "../../src/engine/model/errors.ts";
import { packsOf, shardOf } from "../../src/engine/model/packs.ts";
import { runBlobs } from "../../src/engine/model/runBlobs.ts";
import { contentTypeIn, planOf } from "../support/runFixtures.ts";
import { leadInMemory } from "./leadInMemory.ts";

/** Runs side by side; when all that was sent is computed, each is cancelled with `keep`. Partials and those that count. */
async function keptOf(runs: number, packs = 300) {
  const account = leadInMemory();
  const plan = planOf(packs);
  const ids = Array.from({ length: runs }, (_, index) => `r${index}`);
  for (const id of ids) await account.addRun(id, plan);
  await account.lead(60_000);
  const there = new Map<string, number>();
  for (const id of ids) {
    const { cursor, layout } = await account.stateOf(id);
    if (layout === undefined) throw new Error("no layout");
    expect(cursor).toBeLessThanOrEqual(packsOf(layout));
    for (let pack = 0; pack < cursor; pack += 1) {
      const name = runBlobs(id, `uid${id}`).part(shardOf(layout, pack), pack);
      const contentType = contentTypeIn(plan, id);
      await account.storage.blobs.create(account.names.runs, name, "x", { contentType });
    }
    there.set(id, cursor);
  }
  for (const id of ids) await account.mark(id, { want: "cancelled", keep: "1", command: 1 });
  account.nextTerm();
  await account.lead(60_000);
  const lost: string[] = [];
  for (const id of ids) {
    const { packsDone, packsFailed } = await account.stateOf(id);
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
  const account = leadInMemory();
  const deadline = { ms: 60_000, keep: true };
  const ids = Array.from({ length: 40 }, (_, index) => `r${index}`);
  for (const id of ids) await account.addRun(id, planOf(200), { spec: { deadline } });
  const clock = account.world.clock();
  // 150 of the 200 packs of each run: 100 early, 50 at 59 s, when the deadline is at 60 s.
  const done = (from: number, to: number) => {
    for (const id of ids)
      for (let pack = from; pack < to; pack += 1)
        void account.storage.blobs.create(account.names.runs, runBlobs(id, `uid${id}`).part(0, pack), "x", {
          contentType: contentTypeIn(planOf(200), id, 1_000, { deadline }),
        });
  };
  clock.after(30_000, () => done(0, 100));
  clock.after(59_500, () => done(100, 150));
  await account.lead(120_000);
  const lost: string[] = [];
  for (const id of ids) {
    const { packsDone } = await account.stateOf(id);
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
  const account = leadInMemory();
  const { storage, names, world } = account;
  const plan = planOf(300);
  await account.addRun("r", plan, { spec });
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
  if (command !== undefined) world.clock().after(20_000, () => void account.mark("r", command));
  await account.lead(60_000);
  expect(await account.stateOf("r")).toMatchObject({ keep: true, packsDone: 100, packsFailed: 200 });
});
