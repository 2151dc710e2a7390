import { expect, it } from "vitest";
import { durations } from "../../../src/engine/client/inspection/durations.ts";
import { packMap } from "../../../src/engine/client/inspection/packMap.ts";
import { timeline } from "../../../src/engine/client/inspection/timeline.ts";
import { status } from "../../../src/engine/client/status.ts";
import { submit } from "../../../src/engine/client/submit.ts";
import { beginGeneration } from "../../../src/engine/leader/decide/restart.ts";
import { decodeMarker } from "../../../src/engine/model/marker.ts";
import { firstState, type State } from "../../../src/engine/model/state.ts";
import { clientWorld, names } from "../clientWorld.ts";

const layout = { chunks: 95, packSize: 10, shardSize: 256, fanIn: 1000, packMs: 1 };
const bits = (byte: number) => Buffer.from([byte, 0]).toString("base64url");
const sum = (cells: readonly number[]) => cells.reduce((all, one) => all + one, 0);

/** A run that failed with 5 of 10 packs done, whose retry waits for a leader. */
async function waiting() {
  const world = await clientWorld();
  const { client, putState, putMarker, storage } = world;
  const run = await submit(client, { calculation: "sum", params: { to: 95 }, id: "r1" });
  const atMs = client.clock.wallMs();
  const failed: Partial<State> = {
    ...{ phase: "failed", layout, cursor: 10, code: "sum@1", finishedMs: atMs + 9_000 },
    open: { 0: { done: bits(0b11111), failed: bits(0b100000) } },
    ...{ packsDone: 5, packsFailed: 1, chunksDone: 50, chunksFailed: 10, durationsMs: [1, 2, 3, 4, 5] },
    terms: [{ term: 3, holder: "node-1", atMs: atMs + 1_000 }],
    progress: { generation: 1, turn: 0, marks: [{ atMs: atMs + 2_000, ended: 5, computeMs: 9 }] },
  };
  await world.world.advance(60_000);
  await putState(run, failed);
  await putMarker(run, { generation: 2, command: 1 });
  /** What the views show of the packs. */
  const shown = async () => {
    const view = await status(client, "r1");
    const [map, line, times] = [
      await packMap(client, "r1"),
      await timeline(client, "r1"),
      await durations(client, "r1"),
    ];
    return {
      status: [view.generation, view.packs?.total ?? 0, view.packs?.done ?? 0],
      map: [map.generation, map.packs, sum(map.cells.done)],
      timeline: [line.generation, line.packs, line.marks.at(-1)?.ended ?? 0],
      durations: [times.generation, times.packs, times.counted],
    };
  };
  const begin = async () => {
    const head = await storage.blobs.head(names.active, "r1");
    if (head.kind !== "found") throw new Error("no marker");
    const marker = decodeMarker(head.properties.metadata, "r1");
    const first = firstState({ ...run, generation: 1, cap: 1, nowMs: atMs });
    await putState(run, beginGeneration({ ...first, ...failed }, marker, client.clock.wallMs()));
  };
  return { ...world, shown, begin };
}

it("a retry shows what it keeps, whether or not a leader has begun it", async () => {
  const { client, shown, begin } = await waiting();
  const kept = { status: [2, 10, 5], map: [2, 10, 5], timeline: [2, 10, 0], durations: [2, 10, 5] };
  expect(await shown()).toEqual(kept);
  const line = await timeline(client, "r1");
  expect([line.finishedAt, line.retriedAt]).toEqual([
    undefined,
    new Date(client.clock.wallMs()).toISOString(),
  ]);
  await begin();
  // A leader forgets the durations of the generation before.
  expect(await shown()).toEqual({ ...kept, durations: [2, 10, 0] });
});
