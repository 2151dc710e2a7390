import { describe, expect, it } from "vitest";
import { makeRouter } from "../../../../src/host/httpServer.ts";

const route = (template: string, methods = ["GET"]) => ({ template, methods, target: template });

describe("routes", () => {
  const find = makeRouter("api", [
    route("runs/{id}"),
    route("runs"),
    route("runs", ["POST"]),
    route("runs/latest"),
    route("runs/{id}/result"),
    route("runs/{id}/{part}"),
    route("/dashboard/"),
    route("files/{*rest}"),
    route("files/latest"),
  ]);

  it.each([
    ["/api/runs", "runs", {}],
    ["/API/Runs/", "runs", {}],
    ["/api/runs/latest", "runs/latest", {}],
    ["/api/runs/a%20b", "runs/{id}", { id: "a b" }],
    ["/api/runs/a%2Fb", "runs/{id}", { id: "a/b" }],
    ["/api/runs/7/result", "runs/{id}/result", { id: "7" }],
    ["/api/runs/7/x", "runs/{id}/{part}", { id: "7", part: "x" }],
    ["/api/dashboard", "/dashboard/", {}],
    ["/api/files", "files/{*rest}", {}],
    ["/api/files/", "files/{*rest}", {}],
    ["/api/files/a%20b/c%2Fd/", "files/{*rest}", { rest: "a b/c%2Fd" }],
    ["/api/files//c", "files/{*rest}", { rest: "/c" }],
    ["/api/files/latest", "files/latest", {}],
    ["/api/files/latest/1", "files/{*rest}", { rest: "latest/1" }],
  ])("%s is served by %s", (path, target, params) => {
    expect(find("GET", path)).toEqual({ target, params });
  });

  it.each([
    "/",
    "/runs",
    "/api",
    "/api/none",
    "/api/runs/7/other/x",
    "/api/runs//result",
    "/api/filesystem",
    "/api/runs/%E0%A4%A",
  ])("%s is served by nothing", (path) => {
    expect(find("GET", path)).toBeUndefined();
  });

  it("are found by method as well", () => {
    expect(find("POST", "/api/runs")?.target).toBe("runs");
    expect(find("DELETE", "/api/runs")).toBeUndefined();
  });

  it("may do without a prefix", () => {
    expect(makeRouter("", [route("{one}")])("GET", "/a")?.params).toEqual({ one: "a" });
  });
});
