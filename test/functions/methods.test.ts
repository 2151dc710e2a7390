import { beforeEach, expect, test, vi } from "vitest";
import { registerApi } from "../../src/functions/registerApi.ts";

interface Registered {
  readonly name: string;
  readonly methods: readonly string[];
  readonly route: string;
  readonly authLevel: string;
  handler(request: { method: string }): unknown;
}

const registered = vi.hoisted((): Registered[] => []);
vi.mock("@azure/functions", () => ({
  app: { http: (name: string, options: object) => void registered.push({ name, ...options } as Registered) },
}));

beforeEach(() => {
  registered.length = 0;
  const readOnly = () => false;
  const facts = { version: "1", instance: "node-1", lastTickAgeMs: () => undefined, readOnly };
  registerApi({ readOnly, ports: () => Promise.reject(new Error("no settings")) }, facts);
});

const functionsFor = (route: string, method: string): Registered[] =>
  registered.filter((one) => one.route === route && one.methods.includes(method));

test("every method of every route is taken by exactly one function, because the host promises no order", () => {
  expect(new Set(registered.map(({ name }) => name)).size).toBe(registered.length);
  for (const route of new Set(registered.map((one) => one.route))) {
    for (const method of ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]) {
      expect([route, method, functionsFor(route, method).length]).toEqual([route, method, 1]);
    }
  }
});

test("no two routes match one path", () => {
  const shapes = [...new Set(registered.map(({ route }) => route))].map((route) => route.split("/"));
  for (const one of shapes) {
    for (const other of shapes) {
      const mayMeet = one.every(
        (part, at) => [part, other[at]].some((text) => text?.startsWith("{")) || part === other[at],
      );
      expect([one, other, one !== other && one.length === other.length && mayMeet]).toEqual([
        one,
        other,
        false,
      ]);
    }
  }
});

test("HEAD reaches the function that answers GET", () => {
  for (const { route } of registered.filter(({ methods }) => methods.includes("GET"))) {
    expect(functionsFor(route, "HEAD")).toEqual(functionsFor(route, "GET"));
  }
});

test.each([
  ["runs", "DELETE", "POST, GET, HEAD, OPTIONS"],
  ["runs/{id}", "PUT", "GET, HEAD, PATCH, DELETE, OPTIONS"],
  ["runs/{id}/retry", "GET", "POST, OPTIONS"],
  ["health", "POST", "GET, HEAD, OPTIONS"],
])(
  "a request to %s by %s is a problem that names the methods of the route, without storage",
  async (route, method, allow) => {
    const [wrong] = functionsFor(route, method);
    expect(await wrong?.handler({ method })).toMatchObject({
      status: 405,
      headers: { allow, "content-type": "application/problem+json", "x-content-type-options": "nosniff" },
      jsonBody: { code: "method-not-allowed", status: 405 },
    });
    const [options] = functionsFor(route, "OPTIONS");
    expect(await options?.handler({ method: "OPTIONS" })).toMatchObject({ status: 204, headers: { allow } });
  },
);

test("only health and the files of the page are open without a key, and only for reads", () => {
  const open = registered.filter(({ authLevel }) => authLevel !== "function");
  expect(open.map(({ name }) => name)).toEqual(["health", "getUi", "getUiFile"]);
  expect(new Set(open.flatMap(({ methods }) => methods))).toEqual(new Set(["GET", "HEAD"]));
});
