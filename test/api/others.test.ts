import { createRequire } from "node:module";
import { describe, expect, it } from "vitest";
import { answer } from "../../src/app/api/answer.ts";
import { apiFunctions } from "../../src/app/api/apiFunctions.ts";
import type { Route } from "../../src/app/api/route.ts";
import { routes } from "../../src/app/api/routes.ts";
import { getHealth, getInstance } from "../../src/app/api/service.ts";
import { submit } from "../../src/engine/client/submit.ts";
import { clientWorld } from "../client/clientWorld.ts";
import { heartbeatWork, putHeartbeat } from "../support/heartbeatProcess.ts";
import { apiRequest, call, portsOf } from "./apiWorld.ts";

const quiet = { warn: () => {}, error: () => {} };
const writable = { readOnly: () => false };

// Its classes cannot be imported by name in an ES module.
const { HttpRequest, HttpResponse }: typeof import("@azure/functions") = createRequire(import.meta.url)(
  "@azure/functions",
);

const keyed = routes
  .filter(({ anonymous }) => anonymous !== true)
  .map(({ method, route }) => `${method} ${route}`);

describe("the other routes", () => {
  it("show leader, queues and failures", async () => {
    const { client } = await clientWorld();
    await submit(client, { calculation: "sum", params: { to: 1 }, id: "r1" });
    expect((await call(client, "GET leader", apiRequest("leader"))).jsonBody).toEqual({ kind: "never" });
    const { jsonBody } = await call(client, "GET queues", apiRequest("queues"));
    expect(jsonBody).toMatchObject({
      queues: [{ queue: "test-packs" }, {}, {}, {}, { approximateCount: 2 }, {}],
    });
    const failures = await call(
      client,
      "GET runs/{id}/failures",
      apiRequest("runs/r1/failures?max=5", { params: { id: "r1" } }),
    );
    expect(failures.jsonBody).toMatchObject({ run: "r1", failures: [], trying: [], more: false });
  });

  it("show who computes what, by the heartbeats of the instances", async () => {
    const { client } = await clientWorld();
    const ask = async () => (await call(client, "GET workers", apiRequest("workers"))).jsonBody;
    expect(await ask()).toEqual({ workers: [], runs: [], unreadable: [] });
    await putHeartbeat(client, "node-1", { works: [heartbeatWork(17)] });
    expect(await ask()).toMatchObject({
      workers: [{ instance: "node-1", state: "live", computes: [{ run: "r1", pack: 17 }], holds: [] }],
      runs: [{ run: "r1", instances: 1, threads: 1 }],
    });
  });

  it("tell the calculations with their parameters, as the CLI lists them", async () => {
    const { client } = await clientWorld();
    const { jsonBody } = await call(client, "GET calculations", apiRequest("calculations"));
    expect(jsonBody).toMatchObject({
      calculations: [
        { name: "sum", params: expect.arrayContaining([expect.objectContaining({ name: "to" })]) },
      ],
    });
  });

  it("tell anyone that an instance answers, and only with a key which version it is", () => {
    const facts = {
      version: "1.2.3",
      instance: () => "node-1",
      lastTickAgeMs: () => 1234,
      readOnly: () => false,
    };
    const told = (route: Route, change = {}) =>
      route.give?.(apiRequest(route.route), quiet, { ...facts, ...change })?.jsonBody;
    expect(told(getHealth)).toEqual({ ok: true });
    expect(told(getInstance)).toEqual({
      version: "1.2.3",
      instance: "node-1",
      readOnly: false,
      lastTickAgeS: 1.234,
    });
    expect(told(getInstance, { commit: "3ff837a" })).toMatchObject({ commit: "3ff837a" });
    expect(told(getInstance, { lastTickAgeMs: () => undefined, readOnly: () => true })).toEqual({
      version: "1.2.3",
      instance: "node-1",
      readOnly: true,
    });
  });

  it("are each registered once by method and route", () => {
    const keys = routes.map(({ method, route }) => `${method} ${route}`);
    expect(new Set(keys).size).toBe(keys.length);
  });

  it("understand the library's own requests, and the library their answers", async () => {
    const { client } = await clientWorld();
    const request = new HttpRequest({
      method: "POST",
      url: "https://host/api/runs",
      headers: { "content-type": "application/json" },
      body: { string: JSON.stringify({ calculation: "sum", params: { to: 5 }, id: "r1" }) },
    });
    const facts = { version: "1.2.3", instance: () => "node-1", lastTickAgeMs: () => 0, ...writable };
    const own = apiFunctions({ ...writable, ports: () => portsOf(client) }, facts);
    const init = await own.find(({ name }) => name === "apiRuns")?.handle(request, quiet);
    const response = new HttpResponse(init);
    expect([response.status, response.headers.get("location")]).toEqual([202, "/api/runs/r1"]);
    expect(await response.json()).toMatchObject({ run: "r1" });
    const problem = new HttpResponse(
      await answer(
        () => Promise.reject(new Error()),
        request,
        { ...writable, ports: () => portsOf(client) },
        quiet,
      ),
    );
    expect(problem.headers.get("content-type")).toBe("application/problem+json");
  });

  it("give every answer, problems too, headers under which a browser runs nothing of it", async () => {
    const { client } = await clientWorld();
    const params = { id: "none" };
    // The files of the page have a policy of their own.
    for (const name of keyed.concat("GET health")) {
      const answered = await call(client, name, apiRequest("runs/none", { params, body: "<html>" }));
      const headers = ["x-content-type-options", "content-security-policy"].map(answered.header);
      expect([name, ...headers]).toEqual([name, "nosniff", "sandbox; default-src 'none'"]);
    }
  });

  it("refuse a query parameter that the route does not have, with those that it has", async () => {
    const { client } = await clientWorld();
    const params = { id: "r1", name: "packs", prefix: "p", path: "f" };
    const ask = (name: string, query: string) => call(client, name, apiRequest(`x?${query}`, { params }));
    expect(await ask("POST runs/{id}/verify", "samples=5")).toMatchObject({
      status: 400,
      jsonBody: {
        code: "unknown-query",
        field: "samples",
        detail: "samples: not a query parameter of this route; it has sample, wait",
      },
    });
    for (const name of keyed) {
      const { jsonBody } = await ask(name, "x=1");
      const { query } = routes.find(({ method, route }) => `${method} ${route}` === name) ?? {};
      const detail = `x: not a query parameter of this route; it has ${Object.keys(query ?? {}).join(", ") || "none"}`;
      expect([name, jsonBody]).toEqual([name, expect.objectContaining({ status: 400, detail })]);
    }
  });

  it("accept the key as the query parameter code, as the Functions host does", async () => {
    const { client } = await clientWorld();
    expect((await call(client, "GET leader", apiRequest("leader?code=abc"))).status).toBe(200);
  });

  it("ignore query parameters where no key is needed, because probes add their own", async () => {
    const { client } = await clientWorld();
    expect((await call(client, "GET health", apiRequest("health?probe=7"))).status).toBe(200);
  });

  it("answer with a problem when the client itself cannot be made", async () => {
    const ports = () => Promise.reject(new Error("no settings"));
    const never = async () => ({ status: 200 });
    expect(await answer(never, apiRequest("runs"), { ...writable, ports }, quiet)).toMatchObject({
      status: 500,
    });
  });
});
