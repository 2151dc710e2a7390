import { describe, expect, it } from "vitest";
import { readSpec } from "../../src/engine/client/runDocuments.ts";
import { clientWorld } from "../client/clientWorld.ts";
import { apiRequest, call } from "./apiWorld.ts";

const body = { calculation: "sum", params: { to: 100 }, id: "r1" };
const submit = apiRequest("runs", { body });

describe("POST runs", () => {
  it("accepts a run with 202 and says where it is", async () => {
    const { client } = await clientWorld();
    const answered = await call(client, "POST runs", submit);
    expect(answered.status).toBe(202);
    expect(answered.header("location")).toBe("/api/runs/r1");
    expect(answered.jsonBody).toMatchObject({ run: "r1", created: true });
    expect(answered.logged).toEqual([
      expect.stringMatching(/^info \{"event":"run-submitted","run":"r1","uid":"\w+","ms":\d+\}$/),
    ]);
    const again = await call(client, "POST runs", submit);
    expect(again.jsonBody).toMatchObject({ created: false });
    expect(again.logged).toEqual([]);
  });

  it("tells the phase of a run that was there, and how one that failed is retried", async () => {
    const { client, putState } = await clientWorld();
    const { jsonBody } = await call(client, "POST runs", submit);
    const run = jsonBody as { run: string; uid: string };
    expect(run).not.toHaveProperty("phase");
    const again = async () => (await call(client, "POST runs", submit)).jsonBody;
    expect(await again()).toMatchObject({ created: false, phase: "waiting" });
    await putState(run, { phase: "complete" });
    expect(await again()).toMatchObject({ created: false, phase: "complete" });
    expect(await again()).not.toHaveProperty("retry");
    await putState(run, { phase: "failed" });
    expect(await again()).toMatchObject({
      created: false,
      phase: "failed",
      retry: "POST /api/runs/r1/retry",
    });
  });

  it.each(["key-1", '"key-1"'])("takes the id from the header Idempotency-Key: %s", async (key) => {
    const { client } = await clientWorld();
    const request = apiRequest("runs", {
      body: { calculation: "sum", params: { to: 1 } },
      headers: { "idempotency-key": key },
    });
    expect((await call(client, "POST runs", request)).header("location")).toBe("/api/runs/key-1");
  });

  it("makes one run of fifty requests at once with one Idempotency-Key, and 409 of another request", async () => {
    const { client, world } = await clientWorld();
    const post = (to: number) =>
      call(
        client,
        "POST runs",
        apiRequest("runs", {
          body: { calculation: "sum", params: { to } },
          headers: { "idempotency-key": "key-1" },
        }),
      );
    const all = await world.finish(Promise.all(Array.from({ length: 50 }, () => post(1))));
    expect(new Set(all.map(({ status }) => status))).toEqual(new Set([202]));
    const bodies = all.map(({ jsonBody }) => jsonBody as { run: string; uid: string; created: boolean });
    expect(new Set(bodies.map(({ run, uid }) => `${run} ${uid}`)).size).toBe(1);
    expect(bodies.filter(({ created }) => created)).toHaveLength(1);
    expect(await post(2)).toMatchObject({ status: 409, jsonBody: { code: "id-taken" } });
  });

  it("takes the limits that a run sets itself", async () => {
    const { client } = await clientWorld();
    const limited = { packLimitMs: 30_000, attempts: 2, deadline: { ms: 3_600_000, keep: true } };
    const request = apiRequest("runs", { body: { ...body, ...limited } });
    expect((await call(client, "POST runs", request)).status).toBe(202);
    expect((await readSpec(client, "r1"))?.value).toMatchObject(limited);
  });

  it.each([
    ["to", '{"calculation":"sum","params":{"to":1e400}}'],
    ["cap", '{"calculation":"sum","params":{"to":1},"cap":-1e400}'],
  ])("says that a JSON number is beyond the range of a double: %s", async (field, text) => {
    const { client } = await clientWorld();
    const answered = await call(client, "POST runs", apiRequest("runs", { body: text }));
    const detail = `${field}: must be within the range of a double, about ±1.8e308`;
    expect(answered).toMatchObject({ status: 400, jsonBody: { field, detail } });
  });

  it("refuses a header and an id that differ", async () => {
    const { client } = await clientWorld();
    const request = apiRequest("runs", { body, headers: { "Idempotency-Key": "other" } });
    expect(await call(client, "POST runs", request)).toMatchObject({
      status: 400,
      jsonBody: { code: "two-ids" },
    });
  });

  it.each([
    ["an unknown field", { ...body, colour: "red" }, "colour", "unknown-field"],
    ["a missing calculation", { params: {} }, "calculation", "bad-field"],
    ["parameters that are no object", { ...body, params: [1] }, "params", "bad-field"],
    ["a pack size that is text", { ...body, packSize: "9" }, "packSize", "bad-field"],
    ["a negative pack size", { ...body, packSize: -9 }, "packSize", "bad-pack-size"],
    ["a cap of 0", { ...body, cap: 0 }, "cap", "bad-cap"],
    ["a cap of 1.5", { ...body, cap: 1.5 }, "cap", "bad-cap"],
    ["a pack size of 0", { ...body, packSize: 0 }, "packSize", "bad-pack-size"],
    ["a tolerance of 101 %", { ...body, tolerate: { percent: 101 } }, "tolerate", "bad-tolerate"],
    [
      "a tolerance of two kinds",
      { ...body, tolerate: { chunks: 1, percent: 1 } },
      "tolerate",
      "bad-tolerate",
    ],
    ["a tolerance that is text", { ...body, tolerate: "1%" }, "tolerate", "bad-tolerate"],
    ["a pack limit that is text", { ...body, packLimitMs: "30s" }, "packLimitMs", "bad-field"],
    ["a pack limit of 0", { ...body, packLimitMs: 0 }, "packLimitMs", "bad-pack-limit-ms"],
    ["101 attempts", { ...body, attempts: 101 }, "attempts", "bad-attempts"],
    ["a deadline that is text", { ...body, deadline: "2h" }, "deadline", "bad-deadline"],
    ["a keep without a deadline", { ...body, keep: true }, "keep", "unknown-field"],
    [
      "parameters of a megabyte",
      { ...body, params: { to: 1, label: "x".repeat(1_000_000) } },
      "params",
      "params-too-large",
    ],
    ["an unknown calculation", { ...body, calculation: "x" }, "calculation", "unknown-calculation"],
    ["a bad parameter", { ...body, params: { to: -1 } }, "to", "bad-parameter"],
    [
      "a parameter that nests 100,000 deep",
      `{"calculation":"sum","params":{"to":1,"label":${"[".repeat(100_000)}${"]".repeat(100_000)}}}`,
      "label",
      "bad-parameter",
    ],
    [
      "a parameter named __proto__",
      '{"calculation":"sum","params":{"to":1,"__proto__":{"to":2}}}',
      "__proto__",
      "bad-parameter",
    ],
    ["an id with a slash", { ...body, id: "a/b" }, "id", "bad-run-id"],
    ["an id of 300 characters", { ...body, id: "a".repeat(300) }, "id", "bad-run-id"],
  ])("refuses %s with 400, naming the field", async (_what, bad, field, code) => {
    const { client } = await clientWorld();
    const answered = await call(client, "POST runs", apiRequest("runs", { body: bad }));
    expect(answered.status).toBe(400);
    expect(answered.header("content-type")).toBe("application/problem+json");
    expect(answered.jsonBody).toEqual({
      type: `urn:leasefold:error:${code}`,
      title: "Bad Request",
      status: 400,
      detail: expect.stringContaining(field),
      code,
      field,
    });
    expect(answered.logged).toEqual([]);
  });

  it.each([
    "text/plain",
    "multipart/form-data; boundary=x",
    "application/x-www-form-urlencoded",
    "",
    "application/jsonp",
  ])("refuses a body of type %j with 415, since a page of another site could send it", async (type) => {
    const { client } = await clientWorld();
    const simple = apiRequest("runs", { body, headers: { "content-type": type } });
    expect(await call(client, "POST runs", simple)).toMatchObject({
      status: 415,
      jsonBody: { code: "not-json-type", field: "Content-Type" },
    });
    expect(await readSpec(client, "r1")).toBeUndefined();
    const asked = apiRequest("runs", {
      body,
      headers: { "content-type": "Application/JSON; charset=utf-8" },
    });
    expect((await call(client, "POST runs", asked)).status).toBe(202);
  });

  it("refuses what is not JSON, and a list", async () => {
    const { client } = await clientWorld();
    const refused = async (text: string) =>
      (await call(client, "POST runs", apiRequest("runs", { body: text }))).jsonBody;
    expect(await refused("{")).toMatchObject({ status: 400, code: "not-json" });
    expect(await refused("[]")).toMatchObject({ status: 400, code: "bad-field" });
  });

  it("refuses a body that is not UTF-8, in which letters would be replaced, and accepts a byte order mark", async () => {
    const { client } = await clientWorld();
    const text = JSON.stringify({ ...body, params: { to: 100, label: "Zürich" } });
    const send = (bytes: Buffer) =>
      call(client, "POST runs", {
        ...apiRequest("runs"),
        arrayBuffer: async () => new Uint8Array(bytes).buffer,
      });
    expect(await send(Buffer.from(text, "latin1"))).toMatchObject({
      status: 400,
      jsonBody: { code: "not-json", detail: "the body is not JSON in UTF-8" },
    });
    expect(await readSpec(client, "r1")).toBeUndefined();
    expect(await send(Buffer.from(`\uFEFF${text}`))).toMatchObject({ status: 202 });
    expect((await readSpec(client, "r1"))?.value.params).toMatchObject({ label: "Zürich" });
  });

  it("refuses a body of more than a megabyte with 413, told or not", async () => {
    const { client } = await clientWorld();
    const large = apiRequest("runs", { body: { ...body, params: { label: "x".repeat(1_100_000) } } });
    const told = apiRequest("runs", { body, headers: { "content-length": "2000000" } });
    for (const request of [large, told]) {
      expect(await call(client, "POST runs", request)).toMatchObject({
        status: 413,
        jsonBody: { code: "body-too-large" },
      });
    }
  });

  it("answers 409 for an id that another request has", async () => {
    const { client } = await clientWorld();
    await call(client, "POST runs", submit);
    const other = apiRequest("runs", { body: { ...body, params: { to: 7 } } });
    expect(await call(client, "POST runs", other)).toMatchObject({
      status: 409,
      jsonBody: { code: "id-taken", field: "id" },
    });
  });
});
