import { describe, expect, it } from "vitest";
import { makeRouter } from "../../src/local/host/httpRoutes.ts";

const route = (template: string, methods = ["GET"]) => ({ template, methods, target: template });

describe("routes", () => {
  const find = makeRouter("api", [
    route("runs/{id}"),
    route("runs"),
    route("runs", ["POST"]),
    route("runs/latest"),
    route("runs/{number:int}"),
    route("runs/{id}/result/{part?}"),
    route("files/{*path}"),
    route("/dashboard/"),
  ]);

  it.each([
    ["/api/runs", "runs", {}],
    ["/API/Runs/", "runs", {}],
    ["/api/runs/latest", "runs/latest", {}],
    ["/api/runs/42", "runs/{number:int}", { number: "42" }],
    ["/api/runs/a%20b", "runs/{id}", { id: "a b" }],
    ["/api/runs/a%2Fb", "runs/{id}", { id: "a/b" }],
    ["/api/runs/7/result", "runs/{id}/result/{part?}", { id: "7" }],
    ["/api/runs/7/result/x", "runs/{id}/result/{part?}", { id: "7", part: "x" }],
    ["/api/files/a/b/c", "files/{*path}", { path: "a/b/c" }],
    ["/api/files", "files/{*path}", { path: "" }],
    ["/api/dashboard", "/dashboard/", {}],
  ])("%s is served by %s", (path, target, params) => {
    expect(find("get", path)).toEqual({ target, params });
  });

  it.each([
    "/",
    "/runs",
    "/api",
    "/api/none",
    "/api/runs/7/other",
    "/api/runs/7/result/x/y",
    "/api/runs/%E0%A4%A",
  ])("%s is served by nothing", (path) => {
    expect(find("GET", path)).toBeUndefined();
  });

  it("are found by method as well", () => {
    expect(find("POST", "/api/runs")?.target).toBe("runs");
    expect(find("DELETE", "/api/runs")).toBeUndefined();
  });

  it("may do without a prefix", () => {
    expect(makeRouter("", [route("{*all}")])("GET", "/a/b")?.params).toEqual({ all: "a/b" });
  });

  it.each(["runs/{id:regex(x)}", "runs/{id", "a{id}b"])(
    "of a kind not supported are refused: %s",
    (template) => {
      expect(() => makeRouter("api", [route(template)])).toThrow(`the route "${template}"`);
    },
  );
});
