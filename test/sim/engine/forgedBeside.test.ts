import { expect, test } from "vitest";
import { addSchedule } from "../../../src/engine/client/schedules/changeSchedule.ts";
import { closedBlobs } from "../../../src/engine/model/closedRun.ts";
import { expiryBlob, heartbeatBlob, poisonOf, scheduleBlob } from "../../../src/engine/model/names.ts";
import { resultBlobs, runBlobs, specBlob } from "../../../src/engine/model/runBlobs.ts";
import type { State } from "../../../src/engine/model/state.ts";
import { type EngineWorld, engineWorld, simNames as names } from "../../support/engineWorld.ts";
import { forgedRuns, forgedSchedules } from "../../support/forgedDocuments.ts";

/**
 * No other run is later than without a forgery: one world is played with a forged document and without it. It has an honest run, one
 * that becomes due, and the victim, a run of which documents are forged. Other tests say what becomes of the victim.
 *
 * The bound: a run ends with the poll that sees its last outcome, and there is one for each of plan, packs, fold and result, at most
 * 2 s apart. A forged document changes which calls come before a poll, so each of these four may come one poll later.
 */
const laterMsMax = 4 * 2_000;

type Forgery = (engine: EngineWorld, victim: State) => Promise<unknown>;

async function play(forgery?: Forgery): Promise<Readonly<Record<string, number>>> {
  const engine = engineWorld({ seed: 62, code: { chunkMs: () => 400 } });
  for (const _ of [1, 2]) engine.start();
  const request = { calculation: "ranges", params: { chunks: 8, list: false }, packSize: 1 };
  const asked = addSchedule(engine.client, {
    name: "due",
    cron: "* * * * *",
    overlap: "allow",
    run: request,
  });
  const { first } = await engine.world.finish(asked);
  await engine.submit({ id: "victim", chunks: 60, packSize: 1, cap: 2 });
  // The victim is being computed.
  await engine.world.advance(5_000);
  const victim = await engine.state("victim");
  if (victim === undefined) throw new Error("no leader has seen the victim");
  if (forgery !== undefined) await engine.world.finish(forgery(engine, victim));
  const submittedMs = engine.world.nowMs();
  await engine.submit({ id: "honest", chunks: 40, packSize: 1, cap: 8 });
  const ended: Record<string, number> = {};
  for (const id of ["honest", first.run]) {
    const state = await engine.untilEnd(id, 300_000);
    expect(state.phase, id).toBe("complete");
    ended[id === "honest" ? id : "due"] = engine.world.nowMs() - submittedMs;
  }
  expect(engine.instances.filter((one) => one.isDead())).toEqual([]);
  return ended;
}

const deep = `${'{"a":'.repeat(9_000)}1${"}".repeat(9_000)}`;
const badBytes = {
  torn: "{",
  deep,
  none: "",
  list: "[]",
  huge: "x".repeat(2_000_000),
  date: '{"v":1,"atMs":9e15}',
};
const badMetadata = {
  none: {},
  torn: { v: "1", data: "{" },
  newer: { v: "99" },
  far: { v: "1", everyms: "9e15", next: "9e15" },
};

const create = ({ storage }: EngineWorld, container: string, name: string, body = "", metadata = {}) =>
  storage.blobs.create(container, name, body, { metadata });

const forgeries: Record<string, Forgery> = {};
/** Documents that are read one beside the other are forged in one world: none keeps another from being read. */
const together =
  (...forgeries: readonly Forgery[]): Forgery =>
  (engine, victim) =>
    Promise.all(forgeries.map((forgery) => forgery(engine, victim)));

forgeries["schedule of every kind"] = together(
  ...forgedSchedules.map(
    ({ name, body, metadata }): Forgery =>
      (engine) =>
        create(engine, names.active, scheduleBlob(name), body, metadata),
  ),
);
for (const want of ["paused", "run"] as const)
  forgeries[`${want === "run" ? "run" : "paused run"} of every kind`] = together(
    ...forgedRuns(want)
      .flatMap(({ files }) => files)
      .map(
        ({ name, body, metadata }): Forgery =>
          (engine) =>
            create(engine, name.includes("/") ? names.runs : names.active, name, body, metadata),
      ),
  );
forgeries["marker of every name"] = together(
  ...["night$(id)", "x".repeat(900), "a/b", "_", "%2e%2e"].map(
    (name): Forgery =>
      (engine) =>
        create(engine, names.active, name),
  ),
);
for (const [kind, metadata] of Object.entries(badMetadata)) {
  forgeries[`heartbeat, summary and expiry, ${kind}`] = together(
    (engine) => create(engine, names.coordination, heartbeatBlob("node-9", "b1"), "", metadata),
    (engine) => create(engine, names.runs, `${closedBlobs}0.other`, "", metadata),
    (engine) => create(engine, names.runs, expiryBlob, "", metadata),
  );
  forgeries[`marker of the victim, ${kind}`] = async ({ storage }) => {
    const found = await storage.blobs.head(names.active, "victim");
    if (found.kind === "missing") throw new Error("the victim has ended");
    await storage.blobs.setMetadata(names.active, "victim", metadata, { ifMatch: found.properties.etag });
  };
}
for (const [kind, body] of Object.entries(badBytes)) {
  const over =
    (container: string, nameOf: (uid: string) => string): Forgery =>
    async ({ storage }, { uid }) => {
      const name = nameOf(uid);
      if ((await storage.blobs.head(container, name)).kind === "missing")
        await storage.blobs.create(container, name, body);
      else storage.operator.overwriteBlob(container, name, body);
    };
  const of = (uid: string) => runBlobs("victim", uid);
  const pack = { kind: "pack", shard: 0, pack: 50 } as const;
  forgeries[`spec, ${kind}`] = over(names.runs, () => specBlob("victim"));
  forgeries[`state, ${kind}`] = over(names.runs, (uid) => of(uid).state);
  forgeries[`plan, ${kind}`] = over(names.runs, (uid) => of(uid).plan);
  forgeries[`manifest, ${kind}`] = over(names.results, (uid) => resultBlobs("victim", uid).manifest(1));
  forgeries[`partial, node, failure, tried note and message, ${kind}`] = together(
    over(names.runs, (uid) => of(uid).part(0, 50)),
    over(names.runs, (uid) => of(uid).node(1, 1, 0)),
    over(names.runs, (uid) => of(uid).failure({ ...pack, pack: 49 }, 1, 1)),
    over(names.runs, (uid) => of(uid).tried({ ...pack, pack: 48 }, 1, 1)),
    ...[names.packs, names.urgent, names.wake, poisonOf(names.packs), poisonOf(names.urgent)]
      .filter(() => body.length < 60_000)
      .map(
        (queue): Forgery =>
          ({ storage }) =>
            storage.queues.send(queue, body),
      ),
  );
}

let without: Promise<Readonly<Record<string, number>>> | undefined;

test.each(Object.entries(forgeries))(
  "beside a forged %s no other run is later than without it",
  async (_what, forgery) => {
    without ??= play();
    const [honest, forged] = [await without, await play(forgery)];
    for (const [run, endedMs] of Object.entries(forged)) {
      const told = `${run}: ${endedMs} ms, without it ${honest[run]} ms`;
      expect(endedMs - (honest[run] ?? 0), told).toBeLessThanOrEqual(laterMsMax);
    }
  },
);
