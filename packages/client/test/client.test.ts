import { createHash } from "node:crypto";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { fetchOn } from "../../../test/api/apiWorld.ts";
import { clientWorld, counted, leadsOn } from "../../../test/client/clientWorld.ts";
import { type ApiError, connect } from "../leasefoldClient.ts";

// Pauses between tries take no time here.
beforeEach(() => void vi.stubGlobal("setTimeout", (then: () => void) => setImmediate(then)));
afterEach(() => void vi.unstubAllGlobals());

const url = "https://host/api";

/** A client of an app on in-memory storage; `broken` says of the n-th request whether its answer is lost. */
async function world(broken: (n: number, request: Request) => boolean = () => false) {
  const made = await clientWorld();
  const app = fetchOn(made);
  const asked: string[] = [];
  const send: typeof fetch = async (input, init) => {
    const request = new Request(input, init);
    asked.push(`${request.method} ${new URL(request.url).pathname.slice(5)}${new URL(request.url).search}`);
    const answer = await app(input, init);
    if (broken(asked.length, request)) throw new TypeError("fetch failed");
    return answer;
  };
  return { ...made, asked, leasefold: connect({ url, key: "k", fetch: send }) };
}

const failureOf = (work: Promise<unknown>) =>
  work.then(
    () => undefined,
    (error: ApiError) => [error.kind, error.code, error.field],
  );

it("asks nothing of a name that an address resolves away", async () => {
  const { leasefold, asked } = await world();
  for (const name of [".", ".."])
    for (const work of [
      leasefold.run(name).delete(),
      leasefold.schedules.pause(name),
      leasefold.peek(name),
      leasefold.upload(`a/${name}/b`, new Uint8Array(1)),
    ])
      expect(await failureOf(work)).toEqual(["unknown", "bad-name", undefined]);
  expect(asked).toEqual([]);
});

describe("a submitted run", () => {
  it("is one run though the answer to its submit is lost, also where its id is drawn", async () => {
    const { leasefold, asked } = await world((n) => n === 1);
    const run = await leasefold.submit("sum", { to: 10 }, { cap: 5 });
    expect(run.submitted).toMatchObject({ run: run.id, created: false, cap: 5 });
    expect(asked).toEqual(["POST runs", "POST runs"]);
    expect((await leasefold.runs()).runs).toMatchObject([{ run: run.id, word: "waiting" }]);
    expect(run.id).toMatch(/^sum-\d{8}-[0-9a-f]{8}$/);
  });

  it("is paused, resumed, limited, cancelled and deleted", async () => {
    const { leasefold } = await world();
    const run = await leasefold.submit("sum", { to: 10 }, { id: "r1" });
    expect(await run.pause()).toMatchObject({ want: "paused", changed: true });
    expect(await run.resume()).toMatchObject({ want: "run" });
    expect(await run.cap(7)).toMatchObject({ cap: 7 });
    expect(await run.cap({ maxCost: 0.5 })).toMatchObject({ cap: 7, maxCost: 0.5 });
    expect(await run.cancel({ keep: true })).toMatchObject({ want: "cancelled", keep: true });
    expect(await run.delete()).toMatchObject({ want: "delete" });
    expect(await run.status()).toMatchObject({ word: "deleting" });
  });

  it("that failed is retried once, however often the request is repeated", async () => {
    const { leasefold, putState, client } = await world((n) => n === 3);
    const run = await leasefold.submit("sum", { to: 10 }, { id: "r1" });
    const key = run.submitted ?? expect.fail();
    await putState(key, { ...counted, phase: "failed", finishedMs: client.clock.wallMs() });
    expect(await run.retry()).toMatchObject({ generation: 2, changed: false });
    expect(await run.status()).toMatchObject({ generation: 2, phase: "waiting" });
  });
});

describe("watch", () => {
  it("gives the run at once, then when it changes, and ends with its end", async () => {
    const { leasefold, putState, client, asked } = await world((n) => n === 3);
    const run = await leasefold.submit("sum", { to: 10 }, { id: "r1" });
    const key = run.submitted ?? expect.fail();
    const seen: string[] = [];
    for await (const { phase } of run.watch({ everyS: 3 })) {
      seen.push(phase);
      if (phase === "waiting") await putState(key, { ...counted, phase: "computing", packsDone: 1 });
      if (phase === "computing")
        await putState(key, { ...counted, phase: "failed", finishedMs: client.clock.wallMs() });
    }
    expect(seen).toEqual(["waiting", "computing", "failed"]);
    expect(asked.slice(1)).toEqual(["GET runs/r1", ...Array(asked.length - 2).fill("GET runs/r1?wait=3")]);
  });

  it("ends with the reason of its signal, and the run continues", async () => {
    const { leasefold } = await world();
    const run = await leasefold.submit("sum", { to: 10 }, { id: "r1" });
    const stop = new AbortController();
    const watched = (async () => {
      for await (const _ of run.watch({ signal: stop.signal })) stop.abort(new Error("enough"));
    })();
    await expect(watched).rejects.toThrow("enough");
    expect(await run.status()).toMatchObject({ word: "waiting", active: true });
  });
});

describe("a result", () => {
  const large = `"${"x".repeat(20_000_000)}"`;

  async function withResult(text: string, broken?: Parameters<typeof world>[0]) {
    const made = await world(broken);
    const run = await made.leasefold.submit("sum", { to: 10 }, { id: "r1" });
    await made.putResult(run.submitted ?? expect.fail(), text);
    return { ...made, run };
  }

  it("is read in ranges, continues after a connection that broke, and has the hash that was recorded", async () => {
    // Of the requests for the result the second and third find no answer.
    const { run, asked } = await withResult(large, (n) => n === 3 || n === 4);
    const told: number[] = [];
    const result = await run.result({ onProgress: (bytes) => told.push(bytes) });
    expect(result).toMatchObject({ bytes: large.length, contentType: "application/json", generation: 1 });
    const hash = createHash("sha256");
    for await (const piece of result) hash.update(piece);
    expect(hash.digest("hex")).toBe(result.sha256);
    expect(told).toEqual([8_388_608, 16_777_216, large.length]);
    expect(asked.filter((one) => one === "GET runs/r1/result")).toHaveLength(5);
  });

  it.each(["5050", ""])("of the text %j is read whole", async (text) => {
    const { run } = await withResult(text);
    expect(await (await run.result()).text()).toBe(text);
  });

  it("whose bytes are not those of its hash is an error", async () => {
    const made = await clientWorld();
    const app = fetchOn(made);
    const forged: typeof fetch = async (input, init) => {
      const { status, headers, body } = await app(input, init);
      const isResult = new URL(new Request(input).url).pathname.endsWith("/result");
      return new Response(isResult ? "5051" : body, { status, headers });
    };
    const run = await connect({ url, fetch: forged }).submit("sum", { to: 10 }, { id: "r1" });
    await made.putResult(run.submitted ?? expect.fail(), "5050");
    expect(await failureOf((await run.result()).json())).toEqual(["corrupt", "corrupt", undefined]);
  });

  it("is read whole from a server that gives less than it is asked for, and its file has a safe name", async () => {
    const sha256 = createHash("sha256").update("hello").digest("hex");
    const parts: typeof fetch = async (input, init) => {
      const [, from = "0"] = /bytes=(\d+)/.exec(new Request(input, init).headers.get("range") ?? "") ?? [];
      const body = "hello".slice(Number(from), Number(from) + 2);
      const headers = {
        etag: `"${sha256}"`,
        "content-range": `bytes ${from}-${Number(from) + body.length - 1}/5`,
        "content-disposition": 'inline; filename="../a b.txt"',
      };
      return new Response(body, { status: 206, headers });
    };
    const result = await connect({ url, fetch: parts }).run("r1").result();
    expect([await result.text(), result.fileName]).toEqual(["hello", "_a_b.txt"]);
  });

  it("is waited for, and one of a run that failed is an error", async () => {
    const { leasefold, putState, client } = await world();
    const run = await leasefold.submit("sum", { to: 10 }, { id: "r1" });
    const key = run.submitted ?? expect.fail();
    const waiting = failureOf(run.result());
    await putState(key, { ...counted, phase: "failed", finishedMs: client.clock.wallMs() });
    expect(await waiting).toEqual(["conflict", "run-failed", undefined]);
  });
});

describe("the client", () => {
  it("asks for leader, workers, queues, calculations and a plan", async () => {
    const { leasefold, storage } = await world();
    await leadsOn(storage);
    expect(await leasefold.leader()).toMatchObject({ kind: "leading", holder: "node-1" });
    expect(await leasefold.workers()).toMatchObject({ workers: [] });
    expect((await leasefold.queues()).map(({ queue }) => queue)).toContain("test-packs");
    expect((await leasefold.calculations()).map(({ name }) => name)).toEqual(["sum"]);
    expect(await leasefold.plan({ calculation: "sum", params: { to: 100 } })).toMatchObject({ chunks: 100 });
  });

  it("asks for what is known of a run, peeks into a queue and uploads a file", async () => {
    const { leasefold, putResult } = await world();
    const run = await leasefold.submit("sum", { to: 10 }, { id: "r1" });
    const of = { run: "r1" };
    expect(await Promise.all([run.map(), run.durations(), run.timeline(), run.failures()])).toMatchObject([
      ...[of, of, of, of],
    ]);
    expect(await run.logs({ max: 5 })).toMatchObject({ lines: [] });
    await putResult(run.submitted ?? expect.fail(), "55");
    expect(await run.manifest({ generation: 1 })).toMatchObject({ run: "r1", bytes: 2, complete: true });
    expect(await failureOf(run.file("0".repeat(64)))).toEqual(["unknown", "unknown-file", "name"]);
    expect(await leasefold.peek("packs", { n: 2 })).toMatchObject({ queue: "test-packs", messages: [] });
    const uploaded = { source: "test-inputs/new/a b.csv", bytes: 2 };
    expect(await leasefold.upload("new/a b.csv", new Uint8Array(2))).toMatchObject(uploaded);
    expect(await failureOf(leasefold.upload("new/a b.csv", new Blob(["other"])))).toEqual([
      ...["conflict", "other-content", "path"],
    ]);
  });

  it("tells errors by kind, code and field", async () => {
    const { leasefold } = await world();
    expect(await failureOf(leasefold.run("none").status())).toEqual(["unknown", "unknown-run", "run"]);
    expect(await failureOf(leasefold.submit("nope"))).toEqual([
      "invalid",
      "unknown-calculation",
      "calculation",
    ]);
    await leasefold.submit("sum", { to: 1 }, { id: "r1" });
    expect(await failureOf(leasefold.submit("sum", { to: 2 }, { id: "r1" }))).toEqual([
      "conflict",
      "id-taken",
      "id",
    ]);
    const down = await world(() => true);
    expect(await failureOf(down.leasefold.leader())).toEqual(["no-answer", "no-answer", undefined]);
    expect(down.asked).toHaveLength(6);
  });

  it("makes a schedule, though an answer is lost, lists, pauses, triggers and deletes it", async () => {
    const { leasefold, asked } = await world((n) => n === 2);
    const { schedules } = leasefold;
    const run = { calculation: "sum", params: { to: 10 } };
    expect(await schedules.add({ name: "nightly", cron: "0 2 * * *", run })).toMatchObject({
      name: "nightly",
    });
    expect(await schedules.list()).toMatchObject([{ name: "nightly", cron: "0 2 * * *" }]);
    expect(await schedules.pause("nightly")).toMatchObject({ paused: true, changed: true });
    expect(await schedules.resume("nightly")).toMatchObject({ paused: false });
    expect(await schedules.trigger("nightly")).toMatchObject({ run: expect.stringMatching(/^nightly-/) });
    const late = { created: true, run: "nightly-20260101T020000Z" };
    expect(await schedules.trigger("nightly", { at: "2026-01-01T02:00Z" })).toMatchObject(late);
    expect(await schedules.delete("nightly")).toEqual({ name: "nightly" });
    expect(asked.filter((one) => one === "GET schedules")).toHaveLength(2);
    expect(await failureOf(schedules.pause("other"))).toEqual(["unknown", "unknown-schedule", "name"]);
    expect(await leasefold.costs({ by: "team" })).toMatchObject({ by: "team" });
  });

  it("asks for the runs that are meant, tags with commas, and leaves out what is not given", async () => {
    const seen: string[] = [];
    const send: typeof fetch = async (input) => {
      seen.push(new URL(new Request(input).url).search);
      return Response.json({ runs: [] });
    };
    const { runs } = connect({ url, fetch: send });
    await runs();
    await runs({ phase: "active", tag: ["team=risk", "date=2026-11-23"], since: "30d", limit: 5 });
    expect(seen).toEqual(["", "?phase=active&tag=team%3Drisk%2Cdate%3D2026-11-23&since=30d&limit=5"]);
  });

  it("proves who asks by the key, or by a token for the scope of the app", async () => {
    const seen: (string | null)[] = [];
    const send: typeof fetch = async (input, init) => {
      const { headers } = new Request(input, init);
      seen.push(headers.get("x-functions-key"), headers.get("authorization"));
      return Response.json({ kind: "never" });
    };
    await connect({ url: `${url}/`, key: "k", fetch: send }).leader();
    const credential = { getToken: async (scope: string) => ({ token: `for ${scope}` }) };
    await connect({ url, credential, scope: "api://app/.default", fetch: send }).leader();
    expect(seen).toEqual(["k", null, null, "Bearer for api://app/.default"]);
  });
});
