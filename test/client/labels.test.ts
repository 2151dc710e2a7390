import { describe, expect, it } from "vitest";
import { command } from "../../src/engine/client/commands/command.ts";
import { costs } from "../../src/engine/client/costs.ts";
import { timeline } from "../../src/engine/client/inspection/timeline.ts";
import { runs } from "../../src/engine/client/runs.ts";
import { status } from "../../src/engine/client/status.ts";
import { submit } from "../../src/engine/client/submit.ts";
import { calls } from "../../src/engine/model/calls.ts";
import { closedBlob, encodeClosedRun } from "../../src/engine/model/closedRun.ts";
import { costOf } from "../../src/engine/model/cost.ts";
import { engineWorld } from "../support/engineWorld.ts";
import { clientWorld, failureOf, names } from "./clientWorld.ts";

const request = { calculation: "sum", params: { to: 100 } };
const idsOf = ({ runs: page }: Awaited<ReturnType<typeof runs>>) => page.map(({ run }) => run);

describe("tags of a run", () => {
  it("are no part of its request: a repeated submit is the same run and keeps the first ones", async () => {
    const { client } = await clientWorld();
    const first = await submit(client, { ...request, id: "r1", tags: { team: "risk" } });
    expect(first).toMatchObject({ created: true, tags: { team: "risk" } });
    const again = await submit(client, { ...request, id: "r1", tags: { team: "other" } });
    expect(again).toMatchObject({ created: false, uid: first.uid, tags: { team: "risk" } });
    expect(await status(client, "r1")).toMatchObject({ tags: { team: "risk" } });
  });

  it.each([{ team: "a b" }, { "a b": "c" }, { team: 1 }, ["a"], "team=risk", null])(
    "%j are refused before anything is stored",
    async (tags) => {
      const { client } = await clientWorld();
      const failed = await failureOf(submit(client, { ...request, id: "r1", tags: tags as never }));
      expect(failed).toMatchObject({ code: "bad-tags", details: { field: "tags" } });
      expect((await runs(client)).runs).toEqual([]);
    },
  );
});

describe("a list with filters", () => {
  /** `r1` to `r{count}`, a second apart from `fromMs` on, those with even numbers of the team risk. */
  async function ended(count: number, fromMs: number) {
    const made = await clientWorld();
    for (let number = 1; number <= count; number += 1) {
      const tags = { team: number % 2 === 0 ? "risk" : "ops", number: String(number) };
      const run = {
        run: `r${number}`,
        uid: "u",
        generation: 1,
        phase: "complete",
        calculation: "sum",
      } as const;
      const cost = costOf(calls({ queue: 10_000 }), { mbMs: 1_024_000, executions: 1 });
      const rest = { tags, cost, finishedMs: fromMs + number * 1_000 };
      const metadata = encodeClosedRun({ ...run, ...rest });
      const name = closedBlob(run.run, fromMs + number * 1_000);
      await made.storage.blobs.create(names.runs, name, "", { metadata });
    }
    return made;
  }

  it("finds runs by all of the tags, by the beginning of their id and by when they were submitted", async () => {
    const { client } = await ended(12, 0);
    expect(idsOf(await runs(client, { tag: ["team=risk"], prefix: "r1" }))).toEqual(["r12", "r10"]);
    expect(idsOf(await runs(client, { tag: ["team=risk", "number=4"] }))).toEqual(["r4"]);
    expect(idsOf(await runs(client, { tag: ["team=none"] }))).toEqual([]);
    expect(idsOf(await runs(client, { since: "1970-01-01T00:00:11" }))).toEqual(["r12", "r11"]);
    expect(idsOf(await runs(client, { since: "1970-01-01T01:00:11+01:00" }))).toEqual(["r12", "r11"]);
  });

  it("costs no call for a run: what is asked for is in the list, and older pages are not read", async () => {
    const { client, storage } = await ended(2_500, 0);
    const callsOf = async (query: Parameters<typeof runs>[1]) => {
      const { list, read, other } = storage.meter.counts();
      await runs(client, query);
      const now = storage.meter.counts();
      return [now.list - list, now.read - read, now.other - other];
    };
    expect(await callsOf({})).toEqual([2, 0, 0]);
    // The list of markers, and three pages.
    expect(await callsOf({ tag: ["team=none"] })).toEqual([4, 0, 0]);
    expect(await callsOf({ tag: ["team=none"], since: "1970-01-01T00:41:00" })).toEqual([2, 0, 0]);
  });

  it("reads no active run with another beginning of its id, and finds one by its tags", async () => {
    const { client, storage } = await clientWorld();
    for (const id of ["a1", "a2", "b1"]) await submit(client, { ...request, id, tags: { is: id } });
    const before = storage.meter.counts().read;
    expect(idsOf(await runs(client, { prefix: "b" }))).toEqual(["b1"]);
    // Its spec and its state.
    expect(storage.meter.counts().read - before).toBe(2);
    expect(idsOf(await runs(client, { tag: ["is=a2"] }))).toEqual(["a2"]);
  });

  it.each([
    [{ tag: ["team"] }, "bad-tag"],
    [{ tag: ["a=1", "a=2"] }, "bad-tag"],
    [{ since: "tomorrow" }, "bad-since"],
    [{ since: "1" }, "bad-since"],
    [{ since: "2026-13-45" }, "bad-since"],
  ])("%j is refused by its field", async (query, code) => {
    const { client } = await clientWorld();
    expect(await failureOf(runs(client, query))).toMatchObject({ code });
  });

  it("sums what runs cost for each value of a tag, over all pages", async () => {
    const { client } = await ended(2_500, 0);
    const found = await costs(client, { by: "team" });
    // Ten thousand queue calls each, and one GB-second with one execution.
    const each = { runs: 1_250, storageDollars: 5, gbS: 1_250, executions: 1_250 };
    expect(found.groups).toMatchObject([
      { value: "risk", ...each },
      { value: "ops", ...each },
    ]);
    expect(found.total).toMatchObject({ runs: 2_500, storageDollars: 10, computeDollars: 0.066 });
    expect(found.total.dollars).toBeCloseTo(10.07, 2);
    const some = await costs(client, { tag: ["number=7"], by: "number" });
    expect(some.groups.map(({ value, runs: count }) => [value, count])).toEqual([["7", 1]]);
    expect(await costs(client, { by: "none", tag: ["number=7"] })).toMatchObject({ groups: [{ runs: 1 }] });
    expect(await failureOf(costs(client, { by: "a b" }))).toMatchObject({ code: "bad-by" });
  });
});

describe("who asked for what", () => {
  it("is told by spec, marker and state, and stays in the summary with tags and cost", async () => {
    const engine = engineWorld();
    const { world, client, log } = engine;
    engine.start();
    await engine.submit({ id: "r1", chunks: 4_000, packSize: 1, tags: { team: "risk" } });
    await world.advance(3_000);
    const by = (actor: string) => ({ ...client, actor });
    await world.finish(command(by("user:ada"), "r1", { kind: "cap", cap: 7 }));
    expect(await status(client, "r1")).toMatchObject({ command: { by: "user:ada" } });
    await world.advance(5_000);
    await world.finish(command(by("entra:bob"), "r1", { kind: "pause" }));
    await world.advance(5_000);
    await world.finish(command(by("key"), "r1", { kind: "resume" }));
    await world.advance(5_000);
    await world.finish(command(by("user:eve"), "r1", { kind: "cancel" }));
    await engine.untilEnd("r1");
    await world.advance(5_000);
    await world.finish(command(by("azure:ada"), "r1", { kind: "retry" }));
    await world.advance(5_000);
    const told = (await timeline(client, "r1")).commands.map(({ action, by: who }) => `${action} ${who}`);
    expect(told).toEqual([
      ...["cap user:ada", "pause entra:bob", "resume key", "cancel user:eve", "retry azure:ada"],
    ]);
    const ended = log.find(({ event, fields }) => event === "run-ended" && fields["run"] === "r1");
    expect(ended?.fields).toMatchObject({ tags: "team=risk", calculation: "ranges", phase: "cancelled" });
    expect(Number(ended?.fields["dollars"])).toBeGreaterThan(0);
  });

  it("a run says what it has cost, and its summary says the same", async () => {
    const engine = engineWorld();
    engine.start();
    await engine.submit({ id: "r1", chunks: 100, packSize: 10, tags: { team: "risk" } });
    await engine.untilEnd("r1");
    await engine.world.advance(10_000);
    const view = await status(engine.client, "r1");
    // Plan, ten packs and finish; a leader in all of the time.
    expect(view.executions).toBeGreaterThanOrEqual(10);
    expect(view.executions).toBeLessThanOrEqual(12);
    expect(view.gbS).toBeGreaterThan(2 * view.elapsedS);
    const [listed] = (await runs(engine.client)).runs;
    expect(listed).toMatchObject({ gbS: view.gbS, dollars: view.dollars, tags: { team: "risk" } });
    expect((await engine.manifest("r1"))?.tags).toEqual({ team: "risk" });
  });
});
