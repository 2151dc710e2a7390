import { expect, test } from "vitest";
import { addSchedule } from "../../src/engine/client/schedules/changeSchedule.ts";
import type { ScheduleRequest } from "../../src/engine/client/schedules/scheduleRequest.ts";
import { newTerm } from "../../src/engine/leader/coordinate.ts";
import { keepSchedules } from "../../src/engine/leader/keepSchedules.ts";
import { listMarkers } from "../../src/engine/leader/poll/markers.ts";
import { totalCalls } from "../../src/engine/model/calls.ts";
import { dueTimes } from "../../src/engine/model/dueTimes.ts";
import { StorageError } from "../../src/engine/model/errors.ts";
import { decodeMarker } from "../../src/engine/model/marker.ts";
import { scheduleBlob, scheduledRunId } from "../../src/engine/model/names.ts";
import { runBlobs, specBlob } from "../../src/engine/model/runBlobs.ts";
import { decodeMarks } from "../../src/engine/model/schedule.ts";
import { requestHashOf } from "../../src/engine/model/storedSpec.ts";
import type { BlobStore } from "../../src/engine/storage/ports.ts";
import { dueWithin } from "../support/dueWithin.ts";
import { rangesCalculations } from "../support/rangesCode.ts";
import { leadInMemory } from "./leadInMemory.ts";

const minuteMs = 60_000;

/** In-memory storage with one schedule that is due each minute, and leaders that may be struck at each of their calls. */
async function scheduled(
  overlap: "allow" | "skip" = "allow",
  run: Partial<ScheduleRequest["run"]> = { params: { chunks: 1, list: false } },
) {
  const account = leadInMemory();
  await account.ready;
  const { world, storage, names, ports } = account;
  const client = {
    storage,
    names,
    clock: ports.clock,
    random: world.random,
    calculations: rangesCalculations,
  };
  await addSchedule(client, {
    ...{ name: "s", cron: "* * * * *", overlap },
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
    const leader = { ...account.leader, termid };
    const term = newTerm({ ...ports, storage: near }, leader);
    const listed = await listMarkers(term);
    if (listed === "unreachable") return undefined;
    return keepSchedules(term, listed.all);
  }
  /** Loops until nothing moves. */
  async function serveAll(termid: string, changed?: Parameters<typeof serve>[1]) {
    for (;;) {
      const kept = await serve(termid, changed);
      if (kept?.moved !== true) return kept;
    }
  }
  const runs = async () => (await storage.blobs.list(names.active, "s-")).blobs.map(({ name }) => name);
  return { ...account, marksNow, serve, serveAll, runs };
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

test("the run of a due time has the bound on its cost and the priority that its schedule says", async () => {
  const run = { params: { chunks: 1, list: false }, cap: 3, maxCost: 0.5, priority: "low" } as const;
  const { world, storage, names, serveAll, runs } = await scheduled("allow", run);
  await world.advance(minuteMs);
  await serveAll("t1");
  const [id = ""] = await runs();
  const found = await storage.blobs.head(names.active, id);
  if (found.kind === "missing") throw new Error("no run was submitted");
  expect(decodeMarker(found.properties.metadata, "it")).toMatchObject({ cap: 3, dollars: 0.5 });
  const spec = await storage.blobs.read(names.runs, specBlob(id));
  expect(spec.kind === "found" && JSON.parse(Buffer.from(spec.body).toString())).toMatchObject({
    priority: "low",
  });
});

test("of hundreds of due times each has one run or was skipped, with leaders that die at any call and runs that are deleted", async () => {
  const { world, storage, names, serveAll, marksNow, log } = await scheduled();
  const begun = new Map<string, number>();
  const open = new Set<string>();
  const create = storage.blobs.create.bind(storage.blobs);
  const blobs = storage.blobs as { -readonly [K in keyof BlobStore]: BlobStore[K] };
  blobs.create = async (container, name, body, write) => {
    const reply = await create(container, name, body, write);
    if (container !== names.active || reply.kind !== "created") return reply;
    begun.set(name, (begun.get(name) ?? 0) + 1);
    open.add(name);
    return reply;
  };
  const { next: fromMs = 0 } = await marksNow();
  const { random } = world;
  for (let minutes = 0; minutes < 600; ) {
    const step = random.number() < 0.025 ? 90 : Math.ceil(random.number() * 4);
    minutes += step;
    await world.advance(step * minuteMs);
    const dies = random.number() < 0.5;
    const n = Math.ceil(random.number() * 12);
    const lands = random.number() < 0.5;
    const kept = await serveAll(`t${minutes}`, (inner) => (dies ? dying(inner, n, lands) : {}));
    // Runs end at once, and are deleted once that is allowed.
    for (const name of open) {
      if (kept?.unsettled(name) !== false) continue;
      await storage.blobs.remove(names.runs, specBlob(name));
      await storage.blobs.remove(names.active, name);
      open.delete(name);
    }
  }
  await serveAll("last");
  expect([...begun].filter(([, times]) => times > 1)).toEqual([]);
  const { next = 0 } = await marksNow();
  const due = dueWithin(dueTimes({ cron: "* * * * *", timeZone: "UTC" }), fromMs - 1, next - 1, Infinity);
  expect(due.length).toBeGreaterThanOrEqual(600);
  const missing = due.filter((ms) => !begun.has(scheduledRunId("s", ms)));
  expect(begun.size + missing.length).toBe(due.length);
  // Each gap of runs begins with a due time that was skipped; a record that landed without a reply is not in the log.
  const skipped = log.flatMap(({ event, fields }) => (event === "schedule-skipped" ? [fields["due"]] : []));
  const gaps = missing.filter((ms) => !missing.includes(ms - minuteMs));
  expect(gaps.length).toBeGreaterThan(3);
  expect(gaps.filter((ms) => skipped.includes(new Date(ms).toISOString())).length).toBeGreaterThan(2);
  expect(missing.length).toBeLessThan(30 * gaps.length + 60);
});

test.each([
  ["runs it within the hour", "skip", 60, 0, "submitted", []],
  ["skips what is more than an hour past", "skip", 60, 1_000, "missed", []],
  ["skips it while another run is active", "skip", 0, 0, "overlap", ["s-20291231T235900Z"]],
  ["runs it beside another where it may", "allow", 0, 0, "submitted", ["s-20291231T235900Z"]],
] as const)("a due time: a leader %s", async (_what, overlap, minutes, ms, outcome, active) => {
  const { world, storage, names, serve, marksNow, log } = await scheduled(overlap);
  const { next: dueMs = 0 } = await marksNow();
  for (const name of active) await storage.blobs.create(names.active, name, "");
  await world.advance(dueMs - world.clock().wallMs() + minutes * minuteMs + ms);
  await serve("t");
  const isRun = outcome === "submitted";
  expect(await marksNow()).toMatchObject(isRun ? { last: dueMs } : { skipped: dueMs });
  expect(log.flatMap(({ event, fields }) => (event.startsWith("schedule-") ? [fields["why"]] : []))).toEqual([
    isRun ? undefined : outcome,
  ]);
});

test("a run that was submitted and has ended does not begin again for a leader that finds its due time open", async () => {
  const { world, storage, names, serve, serveAll, runs, marksNow } = await scheduled();
  await world.advance(minuteMs);
  await serve("dies", () => ({
    setMetadata: async () => {
      throw new StorageError("busy", "", undefined, "the process is dead");
    },
  }));
  const [run = ""] = await runs();
  const found = await storage.blobs.read(names.runs, specBlob(run));
  const { uid } = JSON.parse(found.kind === "found" ? Buffer.from(found.body).toString() : "{}");
  await storage.blobs.create(names.runs, runBlobs(run, uid).state, "{}");
  await storage.blobs.remove(names.active, run);
  await world.advance(2_000);
  await serveAll("next");
  expect(await runs()).toEqual([]);
  expect(scheduledRunId("s", (await marksNow()).last ?? 0)).toBe(run);
});

test("a schedule that does not decode is paused, which is told once", async () => {
  const { world, storage, names, serveAll, marksNow, log } = await scheduled();
  const at = [names.active, scheduleBlob("s")] as const;
  const { properties } = (await storage.blobs.head(...at)) as {
    properties: { etag: string; metadata: Record<string, string> };
  };
  await storage.blobs.replace(...at, '{"v":1}', { ifMatch: properties.etag, metadata: properties.metadata });
  await world.advance(minuteMs);
  await serveAll("t");
  expect((await marksNow()).paused).toBe("asked");
  expect(log.filter(({ event }) => event === "schedule-stopped")).toHaveLength(1);
});

test("a leader that slept with a spec in its hands does not begin a run that ended and was deleted meanwhile", async () => {
  const { world, storage, names, serve, runs } = await scheduled();
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
  const [run = ""] = await runs();
  expect(kept?.unsettled(run)).toBe(false);
  await storage.blobs.remove(names.runs, specBlob(run));
  await storage.blobs.remove(names.active, run);
  wake();
  await world.finish(late);
  expect(await runs()).toEqual([]);
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

test("a due run carries its tags and parameters with templates filled", async () => {
  const { world, storage, names, serve, runs } = await scheduled("allow", {
    ...{ params: { chunks: 3, list: false }, tags: { night: "{date}", team: "risk" }, retryAfterS: [60] },
  });
  await world.advance(3 * minuteMs);
  await serve("due");
  const [run = ""] = await runs();
  const found = await storage.blobs.read(names.runs, specBlob(run));
  if (found.kind === "missing") throw new Error("there is no spec");
  expect(JSON.parse(new TextDecoder().decode(found.body))).toMatchObject({
    ...{ schedule: "s", by: "schedule s", params: { chunks: 3, list: false } },
    ...{ tags: { night: "2030-01-01", team: "risk" }, retryAfterS: [60] },
  });
});

/** The spec that a leader writes for the first due time, and a world in which that time is due and nothing is written yet. */
async function plantable() {
  const run = { params: { chunks: 3, list: false }, tags: { team: "risk" }, reuse: true as const };
  const [honest, planted] = [await scheduled("allow", run), await scheduled("allow", run)];
  await honest.world.advance(minuteMs);
  await honest.serve("leader");
  const [id = ""] = await honest.runs();
  const found = await honest.storage.blobs.read(honest.names.runs, specBlob(id));
  if (found.kind === "missing") throw new Error("there is no spec");
  await planted.world.advance(minuteMs);
  return { ...planted, id, spec: JSON.parse(new TextDecoder().decode(found.body)) };
}

test.each([
  ["other parameters", { params: { chunks: 1, list: false } }],
  ["a uid of its own", { uid: "otheruid0001" }],
  ["another name of who submitted", { by: "somebody" }],
  ["other tags", { tags: {} }],
  ["another number of attempts", { attempts: 1 }],
  ["a run to reuse", { reuse: { run: "mine", uid: "u1" } }],
  ["nothing of a schedule", { schedule: undefined }],
])(
  "a spec that is planted under the id of the next run, with %s, is not taken as the schedule's",
  async (_what, change) => {
    const { serve, storage, names, runs, marksNow, log, id, spec } = await plantable();
    const planted = { ...spec, ...change };
    const body = JSON.stringify({ ...planted, requestHash: requestHashOf(planted) });
    await storage.blobs.create(names.runs, specBlob(id), body);
    // With a state as well, as if somebody had submitted it whole.
    await storage.blobs.create(names.runs, runBlobs(id, planted.uid).state, "{}");
    await serve("leader");
    expect(await runs()).toEqual([]);
    expect(scheduledRunId("s", (await marksNow()).skipped ?? 0)).toBe(id);
    expect(log.flatMap(({ event, fields }) => (event === "schedule-skipped" ? [fields["why"]] : []))).toEqual(
      ["id-taken"],
    );
  },
);

test("a spec with all the bytes that a leader writes is the schedule's, whoever wrote it", async () => {
  const { serve, storage, names, runs, marksNow, id, spec } = await plantable();
  await storage.blobs.create(names.runs, specBlob(id), JSON.stringify(spec));
  await serve("leader");
  expect(await runs()).toEqual([id]);
  expect(scheduledRunId("s", (await marksNow()).last ?? 0)).toBe(id);
});

test("a spec that a leader left behind is taken by the next one, also where the run before has something to give by now", async () => {
  const { world, storage, serve, names, runs, marksNow } = await scheduled("allow", {
    ...{ params: { chunks: 1, list: false }, reuse: true as const },
  });
  await world.advance(minuteMs);
  await serve("first");
  const [before = ""] = await runs();
  await world.advance(minuteMs);
  const dies = async () => {
    throw new StorageError("busy", "", undefined, "the process is dead");
  };
  await serve("dies", ({ create }) => ({
    create: (container, ...rest) => (container === names.active ? dies() : create(container, ...rest)),
  }));
  expect(await runs()).toEqual([before]);
  await world.advance(2_000);
  await serve("next");
  const [, run = ""] = await runs();
  expect(scheduledRunId("s", (await marksNow()).last ?? 0)).toBe(run);
  const found = await storage.blobs.head(names.active, run);
  expect(found.kind === "found" && found.properties.metadata["want"]).toBe("run");
});
