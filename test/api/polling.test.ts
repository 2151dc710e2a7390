import { describe, expect, it } from "vitest";
import { command } from "../../src/engine/client/commands/command.ts";
import type { RunView } from "../../src/engine/client/runView.ts";
import { submit } from "../../src/engine/client/submit.ts";
import { totalCalls } from "../../src/engine/model/calls.ts";
import type { State } from "../../src/engine/model/state.ts";
import { clientWorld } from "../client/clientWorld.ts";
import { apiRequest, call } from "./apiWorld.ts";

const layout = { chunks: 95, packSize: 10, shardSize: 256, fanIn: 1000, packMs: 1 };
const params = { id: "r1" };

async function openRun(state?: Partial<State>) {
  const world = await clientWorld();
  const run = await submit(world.client, { calculation: "sum", params: { to: 1 }, id: "r1" });
  if (state !== undefined) await world.putState(run, state);
  const ask = (name: string, known?: string | null) =>
    call(
      world.client,
      name,
      apiRequest("x", { params, ...(known ? { headers: { "if-none-match": known } } : {}) }),
    );
  return { ...world, run, ask };
}

describe("a poll of an open run", () => {
  it.each([
    ["waits", undefined],
    ["is planned", { phase: "planning" }],
    ["computes", { phase: "computing", layout }],
    ["finishes", { phase: "finishing", layout }],
    ["works on its fourth generation", { phase: "finishing", layout, generation: 4 }],
  ] as const)("that %s costs at most six storage calls, with its map", async (_what, state) => {
    const { storage, ask } = await openRun(state);
    const start = totalCalls(storage.meter.counts());
    expect((await ask("GET runs/{id}")).status).toBe(200);
    const run = totalCalls(storage.meter.counts()) - start;
    expect((await ask("GET runs/{id}/map")).status).toBe(200);
    const both = totalCalls(storage.meter.counts()) - start;
    expect(run).toBeGreaterThan(1);
    expect(both).toBeLessThanOrEqual(6);
  });

  it.each(["GET runs/{id}", "GET runs/{id}/map"])(
    "by %s is 304 without a body until a document changes",
    async (name) => {
      const { ask, putState, run, world } = await openRun({ phase: "computing", layout, packsDone: 1 });
      const first = await ask(name);
      const etag = first.header("etag");
      expect(etag).toMatch(/^W\/"[\w-]{22}"$/);
      await world.advance(3_000);
      const again = await ask(name, etag);
      expect([again.status, again.jsonBody, again.header("etag")]).toEqual([304, undefined, etag]);
      expect((await ask(name, `"other", ${etag}`)).status).toBe(304);
      await putState(run, { phase: "computing", layout, packsDone: 2 });
      const changed = await ask(name, etag);
      expect(changed.status).toBe(200);
      expect(changed.header("etag")).not.toBe(etag);
    },
  );

  it("tells of a command at once, which no leader has answered", async () => {
    const { ask, client } = await openRun({ phase: "computing", layout });
    const etag = (await ask("GET runs/{id}")).header("etag");
    await command(client, "r1", { kind: "pause" });
    const answered = await ask("GET runs/{id}", etag);
    expect([answered.status, answered.jsonBody]).toEqual([200, expect.objectContaining({ paused: true })]);
  });

  it("that waits is answered when the run enters another phase, or when the time is over", async () => {
    const { putState, run, world, client } = await openRun({ phase: "planning" });
    const wait = (s: number) => {
      const request = apiRequest(`runs/r1?wait=${s}`, { params });
      return call(client, "GET runs/{id}", request).then(({ jsonBody }) => ({
        ...(jsonBody as RunView),
        atMs: world.nowMs(),
      }));
    };
    const startMs = world.nowMs();
    const [changed, over] = [wait(60), wait(2)];
    await world.advance(5_000);
    await putState(run, { phase: "computing", layout });
    await world.advance(5_000);
    expect(await over).toMatchObject({ phase: "planning", atMs: startMs + 2_000 });
    const { phase, atMs } = await changed;
    expect(phase).toBe("computing");
    expect(atMs - startMs).toBeGreaterThan(5_000);
    expect(atMs - startMs).toBeLessThanOrEqual(6_000);
    await putState(run, { phase: "failed", error: { code: "x", message: "y" } });
    const ended = await wait(60);
    expect(ended).toMatchObject({ phase: "failed", atMs: startMs + 10_000 });
    const refused = await call(client, "GET runs/{id}", apiRequest("runs/r1?wait=201", { params }));
    expect(refused).toMatchObject({ status: 400, jsonBody: { code: "bad-query" } });
  });

  it("gets the map that was made for the same state", async () => {
    const { ask } = await openRun({ phase: "computing", layout });
    const [one, two] = [await ask("GET runs/{id}/map"), await ask("GET runs/{id}/map")];
    expect(one.jsonBody).toMatchObject({ packs: 10 });
    expect(two.jsonBody).toBe(one.jsonBody);
  });

  it("never gets the map of an older run with the same id", async () => {
    const old = await openRun({ phase: "computing", layout });
    const other = await openRun({ phase: "computing", layout: { ...layout, chunks: 20 } });
    expect((await old.ask("GET runs/{id}/map")).jsonBody).toMatchObject({ packs: 10 });
    expect((await other.ask("GET runs/{id}/map")).jsonBody).toMatchObject({ packs: 2 });
  });
});
