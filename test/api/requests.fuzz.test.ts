import fc from "fast-check";
import { beforeAll, expect, test } from "vitest";
import { report } from "../../src/app/api/report.ts";
import { routes } from "../../src/app/api/routes.ts";
import { submit } from "../../src/engine/client/submit.ts";
import { type ClientWorld, clientWorld } from "../client/clientWorld.ts";
import { fuzzRuns } from "../support/fuzzRuns.ts";
import { hostileBytes } from "../support/hostileValues.ts";
import { apiRequest, call } from "./apiWorld.ts";

const runs = fuzzRuns(1_000, 8_000);

const bodies = [
  { calculation: "sum", params: { to: 3 }, id: "r2", packSize: 1, cap: 5, tolerate: { chunks: 1 } },
  { want: "paused" },
  { cap: 7 },
  { want: "cancelled", keep: true },
  { sample: "5%" },
  { calculation: "sum", params: { to: 3 }, packSize: 1, workers: 2 },
  { generation: 2 },
];

const id = fc.oneof(
  fc.constantFrom(
    "r1",
    "r2",
    "..",
    ".",
    "",
    "a/b",
    "%2e%2e",
    "_dropped",
    "packs",
    "test-urgent-poison",
    "__proto__",
    "x".repeat(64),
    "r1\n",
  ),
  fc.string({ unit: "binary", maxLength: 20 }),
);
const queryValue = fc.oneof(
  fc.constantFrom(
    "1",
    "0",
    "-1",
    "1e3",
    "true",
    "",
    "..",
    "9".repeat(20),
    "active",
    "failed",
    "eyJhZnRlciI6IiJ9",
  ),
  fc.string(),
);
/** Without the page, whose files only a build has. */
const built = routes.filter(({ route }) => !/^(ui|openapi)/.test(route));
/** A route and a query, mostly of parameters that the route has. */
const routeAndQuery = fc.constantFrom(...built).chain(({ method, route, query: shape }) => {
  const query = Object.keys(shape);
  const known = query.length === 0 ? fc.constant("x") : fc.constantFrom(...query);
  const maxKeys = query.length === 0 ? 0 : 3;
  return fc.tuple(
    fc.constant(`${method} ${route}`),
    fc.oneof(
      { weight: 9, arbitrary: fc.dictionary(known, queryValue, { maxKeys }) },
      {
        weight: 1,
        arbitrary: fc.dictionary(fc.constantFrom("code", "so-far", "x", "__proto__"), queryValue),
      },
    ),
  );
});
const headerText = fc.oneof(
  fc.string({ maxLength: 30 }).map((text) => text.replaceAll(/[^ -~]/g, "?")),
  fc.constantFrom(
    "bytes=0-",
    "bytes=-1",
    "bytes=5-2",
    "bytes=0-1,3-4",
    '"',
    "text/plain",
    "application/octet-stream",
    "application/json; x",
    "-1",
  ),
);
const headers = fc.dictionary(
  fc.constantFrom(
    "content-type",
    "content-length",
    "range",
    "if-none-match",
    "if-match",
    "idempotency-key",
    "accept",
  ),
  headerText,
  { maxKeys: 3 },
);

/** A run that is open, and one that is complete with a result. */
async function inhabited(): Promise<ClientWorld> {
  const world = await clientWorld();
  await submit(world.client, { calculation: "sum", params: { to: 3 }, id: "r1" });
  await world.putResult(await submit(world.client, { calculation: "sum", params: { to: 3 }, id: "r2" }), "3");
  return world;
}

// Its bundle is loaded in real time, which no virtual clock waits for.
beforeAll(async () => void (await report((await inhabited()).client, "r1")));

test("every request, however odd, has an answer below 500, runs nothing in a browser and shows no stack", {}, async () => {
  let world = await inhabited();
  let left = 60;
  await fc.assert(
    fc.asyncProperty(
      routeAndQuery,
      id,
      headers,
      hostileBytes(bodies),
      fc.constantFrom("GET", "HEAD"),
      async ([name, asked], run, sent, body, method) => {
        // Some requests delete or cancel, and all the others shall meet runs in any state.
        left -= 1;
        if (left === 0) world = await inhabited();
        if (left === 0) left = 60;
        const path = `runs?${new URLSearchParams(asked)}`;
        const request = apiRequest(path, {
          body: body.toString("latin1"),
          headers: sent,
          params: { id: run, name: run, file: run, prefix: run, path: run },
          method,
        });
        const answered = await world.world.finish(call(world.client, name, request), 24 * 3_600_000);
        const told = JSON.stringify(answered.jsonBody ?? "");
        expect((answered.jsonBody as { code?: string } | undefined)?.code).not.toBe("internal");
        expect(answered.status).toBeGreaterThanOrEqual(200);
        // No worker is here to answer, and the complete run has no plan, which is damage and told as such.
        if (answered.status !== 504 && !told.includes("the plan of"))
          expect(answered.status).toBeLessThan(500);
        expect(answered.header("x-content-type-options")).toBe("nosniff");
        expect(told).not.toMatch(/\bat .*\.ts:\d+/);
        const errors = answered.logged.filter(
          (line) => line.startsWith("error") && !line.includes("the plan of"),
        );
        expect(errors).toEqual([]);
      },
    ),
    runs,
  );
});
