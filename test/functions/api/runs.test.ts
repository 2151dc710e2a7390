import { describe, expect, it } from "vitest";
import { StorageError } from "../../../src/model/errors.ts";
import { runBlobs } from "../../../src/model/names.ts";
import { clientWorld, names } from "../../client/clientWorld.ts";
import { apiRequest, call } from "./apiWorld.ts";

const body = { calculation: "sum", params: { to: 100 }, id: "r1" };
const submit = apiRequest("runs", { body });
const of = (id: string) => ({ params: { id } });

describe("POST runs", () => {
  it("accepts a run with 202 and says where it is", async () => {
    const { client } = await clientWorld();
    const answered = await call(client, "submitRun", submit);
    expect(answered.status).toBe(202);
    expect(answered.header("location")).toBe("/api/runs/r1");
    expect(answered.jsonBody).toMatchObject({ run: "r1", created: true });
    expect((await call(client, "submitRun", submit)).jsonBody).toMatchObject({ created: false });
  });

  it.each(["key-1", '"key-1"'])("takes the id from the header Idempotency-Key: %s", async (key) => {
    const { client } = await clientWorld();
    const request = apiRequest("runs", {
      body: { calculation: "sum", params: { to: 1 } },
      headers: { "idempotency-key": key },
    });
    expect((await call(client, "submitRun", request)).header("location")).toBe("/api/runs/key-1");
  });

  it("refuses a header and an id that differ", async () => {
    const { client } = await clientWorld();
    const request = apiRequest("runs", { body, headers: { "Idempotency-Key": "other" } });
    expect(await call(client, "submitRun", request)).toMatchObject({
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
    ["an unknown calculation", { ...body, calculation: "x" }, "calculation", "unknown-calculation"],
    ["a bad parameter", { ...body, params: { to: -1 } }, "params.to", "bad-params"],
    ["an id with a slash", { ...body, id: "a/b" }, "id", "bad-run-id"],
    ["an id of 300 characters", { ...body, id: "a".repeat(300) }, "id", "bad-run-id"],
  ])("refuses %s with 400, naming the field", async (_what, bad, field, code) => {
    const { client } = await clientWorld();
    const answered = await call(client, "submitRun", apiRequest("runs", { body: bad }));
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

  it("refuses what is not JSON, and a list", async () => {
    const { client } = await clientWorld();
    const refused = async (text: string) =>
      (await call(client, "submitRun", apiRequest("runs", { body: text }))).jsonBody;
    expect(await refused("{")).toMatchObject({ status: 400, code: "not-json" });
    expect(await refused("[]")).toMatchObject({ status: 400, code: "bad-field" });
  });

  it("refuses a body of more than a megabyte with 413, told or not", async () => {
    const { client } = await clientWorld();
    const large = apiRequest("runs", { body: { ...body, params: { label: "x".repeat(1_100_000) } } });
    const told = apiRequest("runs", { body, headers: { "content-length": "2000000" } });
    for (const request of [large, told]) {
      expect(await call(client, "submitRun", request)).toMatchObject({
        status: 413,
        jsonBody: { code: "body-too-large" },
      });
    }
  });

  it("answers 409 for an id that another request has", async () => {
    const { client } = await clientWorld();
    await call(client, "submitRun", submit);
    const other = apiRequest("runs", { body: { ...body, params: { to: 7 } } });
    expect(await call(client, "submitRun", other)).toMatchObject({
      status: 409,
      jsonBody: { code: "id-taken", field: "id" },
    });
  });
});

describe("GET and PATCH runs", () => {
  it("list the runs and show one", async () => {
    const { client } = await clientWorld();
    await call(client, "submitRun", submit);
    expect((await call(client, "listRuns", apiRequest("runs"))).jsonBody).toMatchObject({
      runs: [{ run: "r1" }],
    });
    const one = await call(client, "getRun", apiRequest("runs/r1", of("r1")));
    expect(one).toMatchObject({ status: 200, jsonBody: { run: "r1", word: "waiting" } });
    expect(one.header("cache-control")).toBe("no-store");
  });

  it("answer 404 for an unknown run and 400 for an impossible id", async () => {
    const { client } = await clientWorld();
    for (const route of ["getRun", "getResult", "getFailures"]) {
      expect(await call(client, route, apiRequest("x", of("none")))).toMatchObject({
        status: 404,
        jsonBody: { code: "unknown-run", field: "run" },
      });
      expect(await call(client, route, apiRequest("x", of("a b")))).toMatchObject({ status: 400 });
    }
    const change = apiRequest("x", { ...of("none"), body: { cap: 3 } });
    expect(await call(client, "changeRun", change)).toMatchObject({ status: 404 });
  });

  it("take a cap or a cancel, one at a time, and nothing else", async () => {
    const { client } = await clientWorld();
    await call(client, "submitRun", submit);
    const change = (changes: unknown) =>
      call(client, "changeRun", apiRequest("runs/r1", { ...of("r1"), body: changes }));
    expect(await change({ cap: 5 })).toMatchObject({ status: 202, jsonBody: { command: 1, cap: 5 } });
    expect(await change({ want: "cancelled" })).toMatchObject({
      status: 202,
      jsonBody: { command: 2, want: "cancelled" },
    });
    expect(await change({ cap: 0 })).toMatchObject({ status: 400, jsonBody: { field: "cap" } });
    expect(await change({ want: "faster" })).toMatchObject({ status: 400, jsonBody: { field: "want" } });
    expect(await change({ pace: 1 })).toMatchObject({ status: 400, jsonBody: { field: "pace" } });
    expect(await change({})).toMatchObject({ status: 400, jsonBody: { code: "one-change" } });
    expect(await change({ cap: 1, want: "cancelled" })).toMatchObject({ status: 400 });
  });

  it("answer 409 for a command that comes too late", async () => {
    const { client, putState } = await clientWorld();
    const { jsonBody } = await call(client, "submitRun", submit);
    await putState(jsonBody as { run: string; uid: string }, { phase: "complete" });
    const cancel = apiRequest("runs/r1", { ...of("r1"), body: { want: "cancelled" } });
    expect(await call(client, "changeRun", cancel)).toMatchObject({
      status: 409,
      jsonBody: { code: "too-late" },
    });
  });
});

describe("what goes wrong inside", () => {
  it("is 503 with Retry-After and a warning while storage is busy", async () => {
    const { clientOn, storage } = await clientWorld();
    const read = () => Promise.reject(new StorageError("busy", "ServerBusy", 503, "slow down"));
    const answered = await call(
      clientOn({ ...storage, blobs: { ...storage.blobs, read } }),
      "getRun",
      apiRequest("runs/r1", of("r1")),
    );
    expect(answered).toMatchObject({
      status: 503,
      jsonBody: { code: "storage-busy" },
      logged: ["warn http: slow down"],
    });
    expect(answered.header("retry-after")).toBe("5");
  });

  it("is 500 for a state that does not decode, and is logged", async () => {
    const { client, storage } = await clientWorld();
    const { jsonBody } = await call(client, "submitRun", submit);
    const { run, uid } = jsonBody as { run: string; uid: string };
    storage.operator.overwriteBlob(names.runs, runBlobs(run, uid).state, "{");
    const answered = await call(client, "getRun", apiRequest("runs/r1", of("r1")));
    expect(answered).toMatchObject({ status: 500, jsonBody: { code: "not-json" } });
    expect(answered.logged).toHaveLength(1);
  });

  it("tells nothing of a bug's message to the caller", async () => {
    const { clientOn, storage } = await clientWorld();
    const read = () => Promise.reject(new TypeError("AccountKey=secret"));
    const broken = clientOn({ ...storage, blobs: { ...storage.blobs, read } });
    const answered = await call(broken, "getRun", apiRequest("runs/r1", of("r1")));
    expect(answered).toMatchObject({ status: 500, jsonBody: { code: "internal" } });
    expect(JSON.stringify(answered.jsonBody)).not.toContain("secret");
    expect(answered.logged[0]).toContain("secret");
  });
});
