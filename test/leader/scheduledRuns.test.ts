import { expect, test } from "vitest";
import { addSchedule } from "../../src/engine/client/schedules/changeSchedule.ts";
import type { ScheduleRequest } from "../../src/engine/client/schedules/scheduleRequest.ts";
import { newTerm } from "../../src/engine/leader/coordinate.ts";
import { listMarkers } from "../../src/engine/leader/poll/markers.ts";
import { keepSchedules } from "../../src/engine/leader/schedules.ts";
import { totalCalls } from "../../src/engine/model/calls.ts";
import { StorageError } from "../../src/engine/model/errors.ts";
import { parseScheduledRun, scheduleBlob } from "../../src/engine/model/names.ts";
import { specBlob } from "../../src/engine/model/runBlobs.ts";
import { decodeMarks } from "../../src/engine/model/schedule.ts";
import type { BlobStore } from "../../src/engine/storage/ports.ts";
import { rangesCalculations } from "../support/rangesCode.ts";
import { leadOnTwin } from "./leadOnTwin.ts";

const minuteMs = 60_000;

/** A twin with one schedule that is due each minute, and leaders that may be struck at each of their calls. */
async function scheduled(
  overlap: "allow" | "queue" = "allow",
  run: Partial<ScheduleRequest["run"]> = { params: { chunks: 1, list: false } },
) {
  const twin = leadOnTwin();
  await twin.ready;
  const { world, storage, names, ports } = twin;
  const client = {
    storage,
    names,
    clock: ports.clock,
    random: world.random,
    calculations: rangesCalculations,
  };
  await addSchedule(client, {
    ...{ name: "s", cron: "* * * * *", overlap, take: "all", catchUpMs: 300_000 },
    run: { calculation: "ranges", ...run },
  });
  const marksNow = async () => {
    const found = await storage.blobs.head(names.active, scheduleBlob("s"));
    if (found.kind === "missing") throw new Error("the schedule is gone");
    return decodeMarks(found.properties.metadata, "s");
  };
  /** One loop of a leader, with what stands between it and storage. */
  async function serve(termid: string, changed: (blobs: BlobStore) => Partial<BlobStore> = () => ({})) {
    const near = { ...storage, blobs: { ...storage.blobs, ...changed(storage.blobs) } };
    const leader = { ...twin.leader, termid };
    const term = newTerm({ ...ports, storage: near }, leader, { gaveWay: false });
    const listed = await listMarkers(term);
    if (listed === "unreachable") return undefined;
    return keepSchedules(term, listed.all);
  }
  return { ...twin, marksNow, serve };
}

/** Every call from the `n`th on fails, and the `n`th may have its effect. */
function dying(blobs: BlobStore, n: number, lands: boolean): Partial<BlobStore> {
  let calls = 0;
  const struck = (key: "read" | "head" | "create" | "setMetadata") =>
    (async (...args: unknown[]) => {
      calls += 1;
      const call = () => (blobs[key] as (...args: unknown[]) => Promise<unknown>)(...args);
      if (calls < n) return await call();
      if (calls === n && lands) await call();
      throw new StorageError("busy", "", undefined, "the process is dead");
    }) as never;
  return {
    read: struck("read"),
    head: struck("head"),
    create: struck("create"),
    setMetadata: struck("setMetadata"),
  };
}

test("of 10,000 due times each has one run or one word, with leaders that die at any call and runs that are deleted", async () => {
  const { world, storage, names, serve, marksNow, log } = await scheduled();
  const begun = new Map<string, number>();
  const create = storage.blobs.create.bind(storage.blobs);
  const blobs = storage.blobs as { -readonly [K in keyof BlobStore]: BlobStore[K] };
  blobs.create = async (container, name, body, write) => {
    const reply = await create(container, name, body, write);
    if (container !== names.active || reply.kind !== "created") return reply;
    begun.set(name, (begun.get(name) ?? 0) + 1);
    open.add(name);
    return reply;
  };
  const open = new Set<string>();
  const { cursor: fromMs } = await marksNow();
  const { random } = world;
  for (let minutes = 0; minutes < 10_000; ) {
    const step = random.number() < 0.005 ? 30 : Math.ceil(random.number() * 4);
    minutes += step;
    await world.advance(step * minuteMs);
    const dies = random.number() < 0.5;
    const n = Math.ceil(random.number() * 12);
    const lands = random.number() < 0.5;
    const kept = await serve(`t${minutes}`, (inner) => (dies ? dying(inner, n, lands) : {}));
    // Runs end at once, and are deleted once that is allowed.
    for (const name of open) {
      if (kept?.unsettled(name) !== false) continue;
      await storage.blobs.remove(names.runs, specBlob(name));
      await storage.blobs.remove(names.active, name);
      open.delete(name);
    }
  }
  await world.advance(minuteMs);
  for (let again = 0; again < 3; again += 1) await serve("last");
  const marks = await marksNow();
  expect(marks.pending).toEqual([]);
  expect([...begun].filter(([, times]) => times > 1)).toEqual([]);
  const skipped = log.filter(({ event }) => event === "schedule-skipped");
  const missed = skipped.reduce((sum, { fields }) => sum + Number(fields["times"]), 0);
  const due = Math.floor(marks.cursor / minuteMs) - Math.floor(fromMs / minuteMs);
  expect(due).toBeGreaterThanOrEqual(10_000);
  // A word whose record landed without a reply is in the marks and not in the log.
  expect(begun.size + missed).toBeLessThanOrEqual(due);
  expect(begun.size).toBeGreaterThan(9_000);
  for (const name of begun.keys()) expect((parseScheduledRun(name)?.ms ?? 1) % minuteMs).toBe(0);
});

test("a leader that slept with a spec in its hands does not begin a run that ended and was deleted meanwhile", async () => {
  const { world, storage, names, serve } = await scheduled();
  await world.advance(minuteMs);
  let wake = (): void => {};
  const asleep = new Promise<void>((resolve) => {
    wake = resolve;
  });
  let slept = false;
  const late = serve("old", ({ create }) => ({
    async create(container, name, body, write) {
      if (container === names.runs && !slept) {
        slept = true;
        await asleep;
      }
      return create(container, name, body, write);
    },
  }));
  await world.until(() => slept, 1_000);
  const kept = await world.finish(serve("new"));
  const markers = async () => (await storage.blobs.list(names.active, "s-")).blobs.map(({ name }) => name);
  const [run = ""] = await markers();
  expect(kept?.unsettled(run)).toBe(false);
  await storage.blobs.remove(names.runs, specBlob(run));
  await storage.blobs.remove(names.active, run);
  wake();
  await world.finish(late);
  expect(await markers()).toEqual([]);
});

test("a schedule that is not due costs an idle leader its list alone, and one that is due six calls more", async () => {
  const { world, storage, serve } = await scheduled();
  const spent = async () => totalCalls(storage.meter.counts());
  const before = await spent();
  await serve("idle");
  const idle = await spent();
  expect(idle - before).toBe(1);
  await world.advance(minuteMs);
  await serve("due");
  expect((await spent()) - idle).toBe(7);
});

test("a due run carries its tags and parameters with templates filled, a number as a number", async () => {
  const { world, storage, names, serve } = await scheduled("allow", {
    ...{ params: { chunks: "{minute}", list: false }, tags: { night: "{date}", team: "risk" } },
    retryAfterS: [60],
  });
  await world.advance(3 * minuteMs);
  await serve("due");
  const [run = ""] = (await storage.blobs.list(names.active, "s-")).blobs.map(({ name }) => name);
  const found = await storage.blobs.read(names.runs, specBlob(run));
  if (found.kind === "missing") throw new Error("there is no spec");
  const minute = Number(/T\d\d(\d\d)/.exec(run)?.[1]);
  const spec = JSON.parse(new TextDecoder().decode(found.body));
  expect(spec.params).toEqual({ chunks: minute, list: false });
  expect(spec).toMatchObject({ tags: { night: "2030-01-01", team: "risk" }, retryAfterS: [60] });
  expect(spec.numbers).toBeUndefined();
});
