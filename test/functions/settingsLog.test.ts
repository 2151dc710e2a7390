import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { differencesOf, settingsLog, sharedSettings } from "../../src/app/functions/sharedSettings.ts";
import { electionSettings } from "../../src/election/settings.ts";
import { Coordinator } from "../../src/engine/leader/tick.ts";
import type { LogEvent } from "../../src/engine/model/log.ts";
import { encodeMarker } from "../../src/engine/model/marker.ts";
import { containersOf, namesOf, queuesOf } from "../../src/engine/model/names.ts";
import { readSettings } from "../../src/engine/model/settings.ts";
import { memoryStorage } from "../../src/engine/storage/memory/memoryStorage.ts";
import { recordIn } from "../support/recordIn.ts";
import { virtualWorld } from "../support/virtualClock.ts";

/** Apps on one namespace and one account, each ticking when told to. */
function apps() {
  const world = virtualWorld();
  const storage = memoryStorage({ clock: world.clock(), random: world.random });
  const names = namesOf("t");
  return {
    storage,
    names,
    async start(holder: string, about: Readonly<Record<string, string>>) {
      for (const one of containersOf(names)) await storage.blobs.ensureContainer(one);
      for (const one of queuesOf(names)) await storage.queues.ensureQueue(one);
      const logged: LogEvent[] = [];
      const log = (event: LogEvent) => {
        if (event.event === "settings-differ") logged.push(event);
      };
      const clock = world.clock();
      const one = new Coordinator(
        {
          storage,
          names,
          clock,
          random: world.random,
          log,
          onElection() {},
          onPoll: settingsLog(log, about),
        },
        {
          ...{ holder, about, election: electionSettings(), packLimitMs: 300_000, keepDays: 0 },
          loop: { loopMs: 2_000, fastLoopMs: 100 },
        },
      );
      return {
        logged,
        /** Only a leader tells its settings, so there is something to lead: a deletion of what is not there. */
        async tick() {
          const metadata = encodeMarker({
            uid: "u",
            want: "delete",
            generation: 1,
            cap: 1,
            turn: 0,
            command: 0,
          });
          await storage.blobs.create(names.active, "r", "", { metadata });
          return world.finish(one.tick({ startedBy: "tick", startedAtMonotonicMs: clock.monotonicMs() }));
        },
      };
    },
  };
}

const west = { app: "west", version: "1", LEASEFOLD_KEEP_DAYS: "30", LEASEFOLD_LEASE_S: "15" };
const north = { app: "north", version: "1", LEASEFOLD_KEEP_DAYS: "7", LEASEFOLD_LEASE_S: "15" };

test("two apps on one namespace with different settings: each says so once, with values and whose they are", async () => {
  const { start } = apps();
  const one = await start("one", west);
  const two = await start("two", north);
  await one.tick();
  expect(one.logged).toEqual([]);
  await two.tick();
  expect(two.logged).toEqual([
    {
      level: "error",
      event: "settings-differ",
      fields: {
        message:
          "LEASEFOLD_KEEP_DAYS is 7 here and 30 there (old runs go after the shorter time, 0 is never)",
        ...{ holder: "one", app: "west", version: "1" },
      },
    },
  ]);
  for (let again = 0; again < 5; again += 1) {
    await one.tick();
    await two.tick();
  }
  expect(two.logged).toHaveLength(1);
  expect(one.logged.map(({ fields }) => fields["app"])).toEqual(["north"]);
});

test("another instance of the same wrong app says nothing new, another value does", async () => {
  const { start } = apps();
  const one = await start("one", west);
  await (await start("two", north)).tick();
  await one.tick();
  await (await start("three", north)).tick();
  await one.tick();
  expect(one.logged).toHaveLength(1);
  await (await start("four", { ...north, LEASEFOLD_LEASE_S: "60" })).tick();
  await one.tick();
  expect(one.logged).toHaveLength(2);
});

test("an app whose own instances differ, as while it is deployed, is told and no error", async () => {
  const { start } = apps();
  const before = await start("before", { ...west, LEASEFOLD_CALCULATIONS: "mine@1" });
  const after = await start("after", { ...west, LEASEFOLD_CALCULATIONS: "mine@2" });
  await before.tick();
  await after.tick();
  expect(after.logged).toMatchObject([{ level: "info", event: "settings-differ", fields: { app: "west" } }]);
});

test("apps that agree, and one of a version that tells nothing, are no news", async () => {
  const { start } = apps();
  const one = await start("one", west);
  await (await start("two", { ...west, app: "north", version: "2" })).tick();
  await one.tick();
  await (await start("old", {})).tick();
  await one.tick();
  expect(one.logged).toEqual([]);
});

test("an odd difference is a warning", async () => {
  const { start } = apps();
  const one = await start("one", west);
  await (await start("two", { ...west, app: "north", LEASEFOLD_LEASE_S: "60" })).tick();
  await one.tick();
  expect(one.logged).toMatchObject([{ level: "warn" }]);
});

test("what others tell may be anything: the race goes on", async () => {
  const { start, storage, names } = apps();
  const one = await start("one", west);
  await (await start("two", north)).tick();
  const lease = storage.lease(names.coordination, "leader");
  const view = await lease.view();
  if (view.kind === "missing") throw new Error("no record");
  const id = "0b8a7a1e-0000-4000-8000-000000000000";
  await lease.acquire(id, 15);
  const record = { ...recordIn(view.metadata), about: "no texts" };
  await lease.writeRecord(id, { ...view.metadata, record: JSON.stringify(record) });
  await lease.release(id);
  expect(await one.tick()).toMatchObject({ kind: "led", cause: "done" });
  expect(one.logged).toEqual([]);
});

test("OPERATIONS names each setting in which apps should agree, with the level of its line, and no other", () => {
  const page = readFileSync(new URL("../../docs/OPERATIONS.md", import.meta.url), "utf8");
  const table = /^\| differs \| level \|[\s\S]*?\n\n/m.exec(page)?.[0] ?? "";
  const told = [...table.matchAll(/^\| ([^|]*`[^|]*) \| (\w+) \|/gm)].flatMap(([, names = "", level]) =>
    [...names.matchAll(/`(\w+)`/g)]
      .filter(([, name]) => name !== "host")
      .map(([, name = ""]) => [name.replace(/^_/, "LEASEFOLD_"), level]),
  );
  const queues = { messageEncoding: "none", maxDequeueCount: 5 };
  const shared = sharedSettings(readSettings({}), { queues } as Parameters<typeof sharedSettings>[1], []);
  const logged = Object.keys(shared).map((name) => {
    const unsafe = differencesOf({ [name]: "a" }, { [name]: "b" })?.unsafe;
    return [name.slice(name.lastIndexOf(".") + 1), unsafe ? "error" : "warning"];
  });
  expect(told.sort()).toEqual(logged.sort());
});
