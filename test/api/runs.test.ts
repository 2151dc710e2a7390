import { describe, expect, it } from "vitest";
import { StorageError } from "../../src/engine/model/errors.ts";
import { runBlobs, specBlob } from "../../src/engine/model/runBlobs.ts";
import { clientWorld, names } from "../client/clientWorld.ts";
import { forgedRuns } from "../support/forgedDocuments.ts";
import { apiRequest, call } from "./apiWorld.ts";

const body = { calculation: "sum", params: { to: 100 }, id: "r1" };
const submit = apiRequest("runs", { body });
const of = (id: string) => ({ params: { id } });

describe("GET and PATCH runs", () => {
  it("list the runs and show one", async () => {
    const { client } = await clientWorld();
    await call(client, "POST runs", submit);
    expect((await call(client, "GET runs", apiRequest("runs"))).jsonBody).toMatchObject({
      runs: [{ run: "r1" }],
    });
    const one = await call(client, "GET runs/{id}", apiRequest("runs/r1", of("r1")));
    expect(one).toMatchObject({ status: 200, jsonBody: { run: "r1", word: "waiting" } });
    expect(one.header("cache-control")).toBe("no-store");
  });

  it("are filtered by tags, time and id, and their costs are summed", async () => {
    const { client } = await clientWorld();
    for (const [id, team] of [
      ["a1", "risk"],
      ["a2", "ops"],
      ["b1", "risk"],
    ] as const)
      await call(client, "POST runs", apiRequest("runs", { body: { ...body, id, tags: { team } } }));
    const listed = async (query: string) => {
      const { status, jsonBody } = await call(client, "GET runs", apiRequest(`runs?${query}`));
      const { runs = [], code } = jsonBody as { runs?: readonly { run: string }[]; code?: string };
      return status === 200 ? runs.map(({ run }) => run).sort() : code;
    };
    expect(await listed("tag=team%3Drisk")).toEqual(["a1", "b1"]);
    expect(await listed("tag=team=risk&prefix=b&since=1d")).toEqual(["b1"]);
    expect(await listed("since=2999-01-01")).toEqual([]);
    expect(await listed("tag=team")).toBe("bad-tag");
    expect(await listed("since=soon")).toBe("bad-since");
    // The second one would not be seen, and the list would show more than was asked for.
    expect(await listed("tag=team=risk&tag=date=1")).toBe("bad-query");
    const costs = await call(client, "GET costs", apiRequest("costs?by=team"));
    expect(costs).toMatchObject({ status: 200, jsonBody: { by: "team", total: { runs: 3 } } });
    expect(await call(client, "GET costs", apiRequest("costs?by=a%20b"))).toMatchObject({
      jsonBody: { code: "bad-by" },
    });
  });

  it("tell who asked, as the host of the API says", async () => {
    const { client } = await clientWorld();
    const asked = { ...client, actor: "entra:ada" };
    await call(asked, "POST runs", submit);
    await call(
      { ...client, actor: "key" },
      "PATCH runs/{id}",
      apiRequest("x", { ...of("r1"), body: { cap: 3 } }),
    );
    const one = await call(client, "GET runs/{id}", apiRequest("runs/r1", of("r1")));
    expect(one.jsonBody).toMatchObject({ submittedBy: "entra:ada", command: { by: "key" } });
  });

  it("answer 404 for an unknown run and 400 for an impossible id", async () => {
    const { client } = await clientWorld();
    for (const route of ["GET runs/{id}", "GET runs/{id}/result", "GET runs/{id}/failures"]) {
      expect(await call(client, route, apiRequest("x", of("none")))).toMatchObject({
        status: 404,
        jsonBody: { code: "unknown-run", field: "run" },
      });
      expect(await call(client, route, apiRequest("x", of("a b")))).toMatchObject({ status: 400 });
    }
    const change = apiRequest("x", { ...of("none"), body: { cap: 3 } });
    expect(await call(client, "PATCH runs/{id}", change)).toMatchObject({ status: 404 });
  });

  it("take a cap or a wish, one at a time, and nothing else", async () => {
    const { client } = await clientWorld();
    await call(client, "POST runs", submit);
    const change = (changes: unknown) =>
      call(client, "PATCH runs/{id}", apiRequest("runs/r1", { ...of("r1"), body: changes }));
    const accepted = async (changes: unknown) => {
      const { status, jsonBody } = await change(changes);
      const { command, want, cap, changed } = jsonBody as Record<string, unknown>;
      return [status, command, want, cap, changed];
    };
    expect(await accepted({ cap: 5 })).toEqual([202, 1, "run", 5, true]);
    expect(await change({ maxCost: 0.5 })).toMatchObject({ status: 202, jsonBody: { maxCost: 0.5, cap: 5 } });
    expect(await accepted({ cap: 5, maxCost: 0.5 })).toEqual([202, 2, "run", 5, false]);
    expect(await accepted({ want: "paused" })).toEqual([202, 3, "paused", 5, true]);
    expect(await accepted({ want: "paused" })).toEqual([202, 3, "paused", 5, false]);
    expect(await accepted({ want: "run" })).toEqual([202, 4, "run", 5, true]);
    expect(await accepted({ want: "cancelled" })).toEqual([202, 5, "cancelled", 5, true]);
    for (const maxCost of [0, -1, 1_000_001]) {
      expect(await change({ maxCost })).toMatchObject({ status: 400, jsonBody: { field: "maxCost" } });
    }
    const before = await client.storage.blobs.head(names.active, "r1");
    expect(await change({ want: "run" })).toMatchObject({ status: 409, jsonBody: { code: "not-allowed" } });
    for (const cap of [0, 1.5, -1, 100_001]) {
      expect(await change({ cap })).toMatchObject({ status: 400, jsonBody: { field: "cap" } });
    }
    for (const want of ["faster", "delete", "planning", "", null, 1]) {
      expect(await change({ want })).toMatchObject({ status: 400, jsonBody: { field: "want" } });
    }
    expect(await change({ pace: 1 })).toMatchObject({ status: 400, jsonBody: { field: "pace" } });
    for (const none of [{}, { cap: 1, want: "cancelled" }, { cap: 1, want: "paused" }]) {
      expect(await change(none)).toMatchObject({ status: 400, jsonBody: { code: "one-change" } });
    }
    expect(await client.storage.blobs.head(names.active, "r1")).toEqual(before);
  });

  it("cancel and keep what is done where that is asked for, and only with a cancel", async () => {
    const { client } = await clientWorld();
    await call(client, "POST runs", submit);
    const change = (changes: unknown) =>
      call(client, "PATCH runs/{id}", apiRequest("runs/r1", { ...of("r1"), body: changes }));
    for (const other of [{ keep: true }, { cap: 5, keep: true }, { want: "paused", keep: true }]) {
      const refused = { status: 400, jsonBody: { code: "bad-keep", field: "keep" } };
      expect(await change(other)).toMatchObject(refused);
    }
    expect(await change({ want: "cancelled", keep: 1 })).toMatchObject({ status: 400 });
    const kept = { want: "cancelled", keep: true, command: 1, changed: true };
    expect(await change({ want: "cancelled", keep: true })).toMatchObject({ status: 202, jsonBody: kept });
    for (const plain of [{ want: "cancelled" }, { want: "cancelled", keep: false }]) {
      expect(await change(plain)).toMatchObject({ status: 409, jsonBody: { code: "not-allowed" } });
    }
  });

  it("answer 409 for a command that comes too late", async () => {
    const { client, putState } = await clientWorld();
    const { jsonBody } = await call(client, "POST runs", submit);
    await putState(jsonBody as { run: string; uid: string }, { phase: "complete" });
    const cancel = apiRequest("runs/r1", { ...of("r1"), body: { want: "cancelled" } });
    expect(await call(client, "PATCH runs/{id}", cancel)).toMatchObject({
      status: 409,
      jsonBody: { code: "too-late" },
    });
  });
});

describe("POST runs/{id}/retry and DELETE runs/{id}", () => {
  it("accept a retry of a failed run with 202, again as the same one", async () => {
    const { client, storage, putState } = await clientWorld();
    const { jsonBody } = await call(client, "POST runs", submit);
    await putState(jsonBody as { run: string; uid: string }, { phase: "failed" });
    storage.operator.deleteBlob(names.active, "r1");
    const retry = () => call(client, "POST runs/{id}/retry", apiRequest("runs/r1/retry", of("r1")));
    expect(await retry()).toMatchObject({ status: 202, jsonBody: { generation: 2, changed: true } });
    expect(await retry()).toMatchObject({ status: 202, jsonBody: { generation: 2, changed: false } });
    const shown = await call(client, "GET runs/{id}", apiRequest("runs/r1", of("r1")));
    expect(shown.jsonBody).toMatchObject({ active: true, generation: 2, command: { answer: "pending" } });
  });

  it("begin a generation once, if the retry says which, whatever came of it", async () => {
    const { client, storage, putState } = await clientWorld();
    const { jsonBody } = await call(client, "POST runs", submit);
    const run = jsonBody as { run: string; uid: string };
    const retry = (generation: number) =>
      call(
        client,
        "POST runs/{id}/retry",
        apiRequest("runs/r1/retry", { ...of("r1"), body: { generation } }),
      );
    await putState(run, { phase: "failed" });
    storage.operator.deleteBlob(names.active, "r1");
    expect(await retry(3)).toMatchObject({ status: 409, jsonBody: { code: "wrong-generation" } });
    expect(await retry(2)).toMatchObject({ status: 202, jsonBody: { generation: 2, changed: true } });
    await putState(run, { phase: "computing", generation: 2 });
    expect(await retry(2)).toMatchObject({ status: 202, jsonBody: { generation: 2, changed: false } });
    await putState(run, { phase: "failed", generation: 2 });
    storage.operator.deleteBlob(names.active, "r1");
    expect(await retry(2)).toMatchObject({ status: 202, jsonBody: { generation: 2, changed: false } });
    expect(storage.operator.blobNames(names.active)).toEqual([]);
    expect(await retry(3)).toMatchObject({ status: 202, jsonBody: { generation: 3, changed: true } });
  });

  it("refuse a retry whose body has no content type with 415, as it would be ignored", async () => {
    const { client, storage, putState } = await clientWorld();
    const { jsonBody } = await call(client, "POST runs", submit);
    await putState(jsonBody as { run: string; uid: string }, { phase: "failed" });
    storage.operator.deleteBlob(names.active, "r1");
    const headers = new Headers();
    const request = { ...apiRequest("runs/r1/retry", { ...of("r1"), body: { generation: 2 } }), headers };
    expect(await call(client, "POST runs/{id}/retry", request)).toMatchObject({
      status: 415,
      jsonBody: { code: "not-json-type" },
    });
    const empty = { ...request, arrayBuffer: async () => new ArrayBuffer(0) };
    expect(await call(client, "POST runs/{id}/retry", empty)).toMatchObject({ status: 202 });
  });

  it("refuse the retry of a run that works or is complete with 409, each for its reason", async () => {
    const { client, putState, putResult } = await clientWorld();
    const { jsonBody } = await call(client, "POST runs", submit);
    const run = jsonBody as { run: string; uid: string };
    const retry = () => call(client, "POST runs/{id}/retry", apiRequest("runs/r1/retry", of("r1")));
    expect(await retry()).toMatchObject({ status: 409, jsonBody: { code: "still-working" } });
    await putResult(run, "1");
    await putState(run, { phase: "complete" });
    expect(await retry()).toMatchObject({ status: 409, jsonBody: { code: "nothing-to-retry" } });
  });

  it("accept a deletion with 202, and nothing but that from then on", async () => {
    const { client, world, storage } = await clientWorld();
    await call(client, "POST runs", submit);
    const remove = () => call(client, "DELETE runs/{id}", apiRequest("runs/r1", of("r1")));
    expect(await remove()).toMatchObject({ status: 202, jsonBody: { want: "delete", changed: true } });
    expect(await remove()).toMatchObject({ status: 202, jsonBody: { changed: false } });
    const refused = { status: 409, jsonBody: { code: "being-deleted" } };
    const pause = apiRequest("runs/r1", { ...of("r1"), body: { want: "paused" } });
    expect(await call(client, "PATCH runs/{id}", pause)).toMatchObject(refused);
    expect(await call(client, "POST runs/{id}/retry", apiRequest("x", of("r1")))).toMatchObject(refused);
    expect(await world.finish(call(client, "POST runs", submit))).toMatchObject(refused);
    storage.operator.deleteBlob(names.runs, specBlob("r1"));
    storage.operator.deleteBlob(names.active, "r1");
    expect(await remove()).toMatchObject({ status: 404, jsonBody: { code: "unknown-run" } });
  });

  it("answer 404 for an unknown run and 400 for an impossible id", async () => {
    const { client } = await clientWorld();
    for (const route of ["POST runs/{id}/retry", "DELETE runs/{id}"]) {
      expect(await call(client, route, apiRequest("x", of("none")))).toMatchObject({ status: 404 });
      expect(await call(client, route, apiRequest("x", of("a b")))).toMatchObject({
        status: 400,
        jsonBody: { code: "bad-run-id" },
      });
    }
  });
});

describe("what goes wrong inside", () => {
  it("is 503 with Retry-After and a warning while storage is busy", async () => {
    const { clientOn, storage } = await clientWorld();
    const read = () => Promise.reject(new StorageError("busy", "ServerBusy", 503, "slow down"));
    const answered = await call(
      clientOn({ ...storage, blobs: { ...storage.blobs, read } }),
      "GET runs/{id}",
      apiRequest("runs/r1", of("r1")),
    );
    expect(answered).toMatchObject({
      status: 503,
      jsonBody: { code: "storage-busy" },
      logged: ["warn http: slow down"],
    });
    expect(answered.header("retry-after")).toBe("5");
  });

  it("is a run that cannot be read, as the list shows it, and is not logged for each who asks", async () => {
    const { client, storage } = await clientWorld();
    const { jsonBody } = await call(client, "POST runs", submit);
    const { run, uid } = jsonBody as { run: string; uid: string };
    storage.operator.overwriteBlob(names.runs, runBlobs(run, uid).state, "{");
    const answered = await call(client, "GET runs/{id}", apiRequest("runs/r1", of("r1")));
    const blob = runBlobs(run, uid).state;
    expect(answered).toMatchObject({
      status: 409,
      jsonBody: { code: "unreadable", detail: `the state of r1, ${blob}, is not JSON` },
      logged: [],
    });
  });

  it.each(forgedRuns().map(({ run, files }) => [run, files] as const))(
    "is no failure of the app whatever is asked of the forged run %s",
    async (run, files) => {
      const { client, storage } = await clientWorld();
      for (const { name, body, metadata } of files)
        await storage.blobs.create(name.includes("/") ? names.runs : names.active, name, body, { metadata });
      const asked = [
        ...["", "/map", "/durations", "/timeline", "/failures", "/logs", "/manifest", "/result"].map(
          (what) => `GET runs/{id}${what}`,
        ),
        ...["POST runs/{id}/retry", "POST runs/{id}/verify", "PATCH runs/{id}", "DELETE runs/{id}"],
      ];
      for (const route of asked) {
        const body = route.startsWith("PATCH") ? { want: "cancelled" } : {};
        const request = apiRequest(route.slice(route.indexOf(" ") + 1).replace("{id}", run), {
          ...of(run),
          method: route.split(" ")[0] ?? "",
          ...(route.startsWith("GET") ? {} : { body }),
        });
        const { status, jsonBody } = await call(client, route, request);
        expect(status, `${route}: ${JSON.stringify(jsonBody)}`).toBeLessThan(500);
        if (status === 409 && route === "GET runs/{id}")
          expect(jsonBody).toMatchObject({ code: "unreadable", detail: expect.stringContaining(run) });
      }
    },
  );

  it("tells nothing of a bug's message to the caller", async () => {
    const { clientOn, storage } = await clientWorld();
    const read = () => Promise.reject(new TypeError("AccountKey=secret"));
    const broken = clientOn({ ...storage, blobs: { ...storage.blobs, read } });
    const answered = await call(broken, "GET runs/{id}", apiRequest("runs/r1", of("r1")));
    expect(answered).toMatchObject({ status: 500, jsonBody: { code: "internal" } });
    expect(JSON.stringify(answered.jsonBody)).not.toContain("secret");
    expect(answered.logged[0]).toContain("secret");
  });
});
