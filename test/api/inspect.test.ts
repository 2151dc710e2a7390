import { describe, expect, it } from "vitest";
import { submit } from "../../src/engine/client/submit.ts";
import { encodeMessage } from "../../src/engine/model/message.ts";
import { clientWorld } from "../client/clientWorld.ts";
import { apiRequest, call } from "./apiWorld.ts";

const params = { id: "r1" };
const request = { calculation: "sum", params: { to: 10 }, id: "r1" };

describe("what only the dashboard asks", () => {
  it("of a run: durations, timeline, and the manifest of a generation", async () => {
    const { client, putResult } = await clientWorld();
    const run = await submit(client, request);
    for (const name of ["GET runs/{id}/durations", "GET runs/{id}/timeline"])
      expect((await call(client, name, apiRequest("x", { params }))).jsonBody).toMatchObject({
        run: "r1",
        packs: 0,
      });
    expect((await call(client, "GET runs/{id}/manifest", apiRequest("x", { params }))).status).toBe(409);
    const manifest = await putResult(run, "45");
    expect((await call(client, "GET runs/{id}/manifest", apiRequest("x", { params }))).jsonBody).toEqual(
      manifest,
    );
    const older = await call(client, "GET runs/{id}/manifest", apiRequest("x?generation=2", { params }));
    expect([older.status, older.jsonBody]).toEqual([
      404,
      expect.objectContaining({ code: "unknown-generation" }),
    ]);
  });

  it("of a queue: its messages, decoded where they are Leasefold's", async () => {
    const { client, storage } = await clientWorld();
    const message = { v: 1, kind: "compute", run: "r1", uid: "u1", gen: 1, send: 1, turn: 0 } as const;
    const compute = { ...message, shard: 0, pack: 3, from: 30, to: 40 };
    for (const text of [encodeMessage(compute), "<b>not ours</b>", "x".repeat(9_000)])
      await storage.queues.send("test-packs-poison", text);
    const peek = (n: string) =>
      call(client, "GET queues/{name}", apiRequest(`x?n=${n}`, { params: { name: "packs-poison" } }));
    const { jsonBody } = await peek("32");
    expect(jsonBody).toMatchObject({
      queue: "test-packs-poison",
      messages: [
        { kind: "compute", decoded: compute, dequeueCount: 0, insertedAt: expect.stringMatching(/Z$/) },
        { text: "<b>not ours</b>" },
        { text: "x".repeat(8_192), cut: true },
      ],
    });
    const [, foreign, long] = (jsonBody as { messages: readonly object[] }).messages;
    for (const one of [foreign, long]) expect(Object.keys(one ?? {})).not.toContain("kind");
    await submit(client, request);
    const wake = await call(client, "GET queues/{name}", apiRequest("x", { params: { name: "wake" } }));
    expect(wake.jsonBody).toMatchObject({ messages: [{ kind: "wake" }] });
    expect((await peek("33")).status).toBe(400);
    expect(
      (await call(client, "GET queues/{name}", apiRequest("x", { params: { name: "other" } }))).status,
    ).toBe(404);
  });

  it("of calculations: the schema of the parameters as they are given", async () => {
    const { client } = await clientWorld();
    const { jsonBody } = await call(client, "GET calculations", apiRequest("calculations"));
    expect(jsonBody).toMatchObject({
      calculations: [
        {
          schema: {
            type: "object",
            required: ["to"],
            properties: { to: { type: "integer", minimum: 0, maximum: 1e15 }, label: { default: "none" } },
          },
        },
      ],
    });
  });

  it("before a run: its plan, with errors that name the field", async () => {
    const { client } = await clientWorld();
    const plan = (body: object) => call(client, "POST plan", apiRequest("plan", { method: "POST", body }));
    expect(
      (await plan({ calculation: "sum", params: { to: 1e6 }, packSize: 100, workers: 7 })).jsonBody,
    ).toMatchObject({
      ...{ calculation: "sum", chunks: 1e6, packs: 10_000, workers: 7 },
      dollars: expect.any(Number),
    });
    expect(await plan({ calculation: "sum", params: {} })).toMatchObject({
      status: 400,
      jsonBody: { field: "to" },
    });
    expect(await plan({ calculation: "sum", params: { to: 1 }, id: "r1" })).toMatchObject({
      status: 400,
      jsonBody: { code: "unknown-field", field: "id" },
    });
    expect((await plan({ calculation: "nothing" })).status).toBe(400);
  });
});

describe("an API that is read-only", () => {
  it.each([
    "POST runs",
    "PATCH runs/{id}",
    "DELETE runs/{id}",
    "POST runs/{id}/retry",
    "POST runs/{id}/verify",
    "POST plan",
  ])("answers 403 to %s, and writes nothing", async (route) => {
    const { client, storage } = await clientWorld();
    await submit(client, request);
    const before = storage.meter.counts();
    const refused = await call(client, route, apiRequest("x", { params, body: {} }), { readOnly: true });
    expect(refused).toMatchObject({ status: 403, jsonBody: { code: "read-only", status: 403 } });
    expect(storage.meter.counts()).toEqual(before);
  });

  it("answers reads", async () => {
    const { client } = await clientWorld();
    await submit(client, request);
    for (const [method, name] of [
      ["GET", "GET runs/{id}"],
      ["HEAD", "GET runs/{id}"],
      ["GET", "GET runs"],
    ] as const)
      expect((await call(client, name, apiRequest("x", { method, params }), { readOnly: true })).status).toBe(
        200,
      );
  });
});
