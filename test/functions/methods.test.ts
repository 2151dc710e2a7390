import { beforeEach, expect, test, vi } from "vitest";
import { routes } from "../../src/app/api/routes.ts";
import { registerApi } from "../../src/app/functions/registerApi.ts";

interface Registered {
  readonly name: string;
  readonly methods: readonly string[];
  readonly route: string;
  readonly authLevel: string;
  handler(request: object, context: object): Promise<{ status: number }>;
}

const registered = vi.hoisted((): Registered[] => []);
vi.mock("@azure/functions", () => ({
  app: { http: (name: string, options: object) => void registered.push({ name, ...options } as Registered) },
}));

beforeEach(() => {
  registered.length = 0;
  const readOnly = () => false;
  const facts = { version: "1", instance: () => "node-1", lastTickAgeMs: () => undefined, readOnly };
  registerApi({ readOnly, ports: () => Promise.reject(new Error("no settings")) }, facts);
});

const all = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];

/** Asks the function that takes the path, as the host does. */
function ask(method: string, path: string) {
  const [segment, ...rest] = path.split("/");
  const taker = registered.find(({ route }) => route === `${segment}/{*rest}`);
  const query = new URLSearchParams();
  const params = rest.length === 0 ? {} : { rest: rest.join("/") };
  const url = `https://host/api/${path}`;
  const headers = new Headers();
  const request = { method, url, headers, query, params, arrayBuffer: async () => new ArrayBuffer() };
  return taker?.handler(request, { warn: () => {}, error: () => {} });
}

test("each first segment of the routes has one function, which takes every method below it", () => {
  const segments = [...new Set(routes.map(({ route }) => route.split("/")[0]))];
  expect(registered.map(({ route }) => route)).toEqual(segments.map((one) => `${one}/{*rest}`));
  expect(new Set(registered.map(({ name }) => name.toLowerCase())).size).toBe(registered.length);
  for (const { methods } of registered) expect(methods).toEqual(all);
});

test("every route has the level that the table gives it: only health, the document and the files of the page need no key", () => {
  const open = registered.filter(({ authLevel }) => authLevel === "anonymous").map(({ route }) => route);
  expect(open).toEqual(["health/{*rest}", "ui/{*rest}", "openapi.json/{*rest}"]);
  expect(registered.filter(({ authLevel }) => authLevel === "function")).toHaveLength(registered.length - 3);
  for (const { route, anonymous } of routes)
    expect([route, open.includes(`${route.split("/")[0]}/{*rest}`)]).toEqual([route, anonymous === true]);
});

test("no two routes match one path by one method", () => {
  for (const [at, one] of routes.entries()) {
    for (const other of routes.slice(at + 1)) {
      const [mine, its] = [one.route.split("/"), other.route.split("/")];
      const mayMeet =
        one.method === other.method &&
        mine.length === its.length &&
        mine.every(
          (part, index) => [part, its[index]].some((text) => text?.startsWith("{")) || part === its[index],
        );
      expect([one.route, other.route, mayMeet]).toEqual([one.route, other.route, false]);
    }
  }
});

test.each([
  ["runs", "DELETE", "POST, GET, HEAD, OPTIONS"],
  ["runs/", "DELETE", "POST, GET, HEAD, OPTIONS"],
  ["runs/r1", "PUT", "GET, HEAD, PATCH, DELETE, OPTIONS"],
  ["runs/r1/retry", "GET", "POST, OPTIONS"],
  ["runs/r1/RETRY", "GET", "POST, OPTIONS"],
  ["health", "POST", "GET, HEAD, OPTIONS"],
  ["ui/app.js", "POST", "GET, HEAD, OPTIONS"],
])(
  "a request to %s by %s is a problem that names the methods of the route, without storage",
  async (path, method, allow) => {
    expect(await ask(method, path)).toMatchObject({
      status: 405,
      headers: { allow, "content-type": "application/problem+json", "x-content-type-options": "nosniff" },
      jsonBody: { code: "method-not-allowed", status: 405 },
    });
    expect(await ask("OPTIONS", path)).toMatchObject({ status: 204, headers: { allow } });
  },
);

test.each(["runs/r1/none", "runs/r1/result/x", "runs//result", "queues/packs/x", "health/x", "ui/a/b"])(
  "a request to %s, a path of no route, is a problem by every method, without storage",
  async (path) => {
    for (const method of all)
      expect(await ask(method, path)).toMatchObject({
        status: 404,
        headers: { "content-type": "application/problem+json", "x-content-type-options": "nosniff" },
        jsonBody: { code: "unknown-path", status: 404 },
      });
  },
);

test("a key is asked for by the function, and settings by the route: only local routes answer without them", async () => {
  const statuses = await Promise.all(
    ["health", "instance", "ui/none", "runs", "queues/packs"].map(
      async (path) => (await ask("GET", path))?.status,
    ),
  );
  expect(statuses).toEqual([200, 200, 404, 500, 500]);
});
