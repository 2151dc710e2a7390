import { describe, expect, it } from "vitest";
import { answerBytesMax } from "../../src/app/api/apiRequest.ts";
import { submit } from "../../src/engine/client/submit.ts";
import type { WorkMessage } from "../../src/engine/model/message.ts";
import { clientWorld } from "../client/clientWorld.ts";
import { answeringWorker, answersLeft, putAnswer } from "../client/questions/answeringWorker.ts";
import { finishedRun, verifyingWorker } from "../client/questions/finishedRun.ts";
import { apiRequest, call } from "./apiWorld.ts";

type Ask = Extract<WorkMessage, { kind: "sofar" }>;
type Given = Parameters<typeof putAnswer>[2];

const layout = { chunks: 1_000, packSize: 10, shardSize: 10, fanIn: 1_000, packMs: 1 };
const half = {
  text: "4950",
  chunks: 1_000,
  covers: [
    { from: 0, to: 100 },
    { from: 200, to: 223 },
  ],
};

async function computing(given: Given | undefined = half, change = {}) {
  const world = await clientWorld();
  const run = await submit(world.client, { calculation: "sum", params: { to: 1_000 }, id: "r1" });
  await world.putState(run, { phase: "computing", layout });
  if (given !== undefined) {
    answeringWorker(world, (message) => putAnswer(world, message as Ask, given, change));
  }
  const get = (query: string) => {
    const request = apiRequest(`runs/r1/result?${query}`, { params: { id: "r1" } });
    return world.world.finish(call(world.client, "GET runs/{id}/result", request), 300_000);
  };
  return { ...world, run, get };
}

describe("GET runs/{id}/result?soFar=true", () => {
  it("gives the answer, and in headers which chunks it covers", async () => {
    const world = await computing();
    const answered = await world.get("soFar=true");
    expect([answered.status, Buffer.from(answered.body as Uint8Array).toString()]).toEqual([200, "4950"]);
    expect(answered.header("content-type")).toBe("application/json");
    expect(answered.header("cache-control")).toBe("no-store");
    expect(answered.header("leasefold-complete")).toBe("false");
    expect(answered.header("leasefold-chunks")).toBe("123/1000");
    expect(answered.header("leasefold-covers")).toBe("0-99,200-222");
    expect(answersLeft(world)).toEqual([]);
  });

  it("cuts off ranges that are too many for a header", async () => {
    const covers = Array.from({ length: 400 }, (_, place) => ({
      from: 1_000_000 + 10 * place,
      to: 1_000_001 + 10 * place,
    }));
    const text = (await (await computing({ ...half, covers })).get("soFar=true")).header("leasefold-covers");
    expect(text?.length).toBeLessThan(2_100);
    expect(text).toMatch(/^1000000-1000000,.*,10\d{5}-10\d{5},\.\.\.$/);
  });

  it("gives the result of a finished run", async () => {
    const { run, putResult, putState, get } = await computing();
    const manifest = await putResult(run, "499500");
    await putState(run, { phase: "complete", layout });
    const answered = await get("soFar=true");
    expect([answered.status, answered.header("etag")]).toEqual([200, `"${manifest.sha256}"`]);
    expect(answered.header("leasefold-complete")).toBe("true");
  });

  it("answers 504 when no worker does in time", async () => {
    const world = await clientWorld();
    const run = await submit(world.client, { calculation: "sum", params: { to: 1 }, id: "r1" });
    await world.putState(run, { phase: "computing", layout });
    const request = apiRequest("runs/r1/result?soFar=true&wait=9", { params: { id: "r1" } });
    const answered = await world.world.finish(call(world.client, "GET runs/{id}/result", request));
    expect(answered).toMatchObject({ status: 504, jsonBody: { code: "no-answer" } });
    expect(world.world.nowMs()).toBeLessThan(12_000);
  });

  it.each([
    ["soFar=yes", "soFar"],
    ["soFar=true&generation=1", "generation"],
    ["soFar=true&wait=1000", "wait"],
  ])("refuses %s", async (query, field) => {
    const { get } = await computing();
    expect(await get(query)).toMatchObject({ status: 400, jsonBody: { field } });
  });

  it("refuses an answer larger than one response carries, and leaves nothing behind", async () => {
    const world = await computing(half, { bytes: answerBytesMax + 1 });
    expect(await world.get("soFar=true")).toMatchObject({
      status: 413,
      jsonBody: { code: "answer-too-large" },
    });
    expect(answersLeft(world)).toEqual([]);
  });
});

describe("POST runs/{id}/verify", () => {
  const verifyRun = async (query = "") => {
    const world = await clientWorld();
    await finishedRun(world);
    verifyingWorker(world);
    const request = apiRequest(`runs/r1/verify${query}`, { params: { id: "r1" } });
    return world.world.finish(call(world.client, "POST runs/{id}/verify", request));
  };

  it("tells how a sample of the packs compares", async () => {
    expect(await verifyRun("?sample=5%25")).toMatchObject({
      status: 200,
      jsonBody: { run: "r1", packs: { drawn: 5, equal: 5 }, allEqual: true },
    });
    expect(await verifyRun()).toMatchObject({ jsonBody: { packs: { drawn: 1 } } });
  });

  it("refuses a sample that is none", async () => {
    expect(await verifyRun("?sample=0")).toMatchObject({ status: 400, jsonBody: { field: "sample" } });
  });

  it("answers 404 for an unknown run and 409 for one without a result", async () => {
    const { client } = await clientWorld();
    const post = () =>
      call(client, "POST runs/{id}/verify", apiRequest("runs/r1/verify", { params: { id: "r1" } }));
    expect((await post()).status).toBe(404);
    await submit(client, { calculation: "sum", params: { to: 1 }, id: "r1" });
    expect((await post()).status).toBe(409);
  });
});
