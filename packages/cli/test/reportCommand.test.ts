import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { submit } from "../../../src/engine/client/submit.ts";
import { apiRequest, call } from "../../../test/api/apiWorld.ts";
import { cliWorld } from "./cliWorld.ts";

const folder = mkdtempSync(join(tmpdir(), "leasefold-report-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

async function finished() {
  const world = await cliWorld();
  await world.putResult(
    await submit(world.client, { calculation: "sum", params: { to: 10 }, id: "r1" }),
    "45",
  );
  const http = await call(world.client, "GET runs/{id}/report", apiRequest("x", { params: { id: "r1" } }));
  return { ...world, http };
}

describe("leasefold report", () => {
  it("writes the same page that the API gives, by default under the name of the run", async () => {
    const { start, http } = await finished();
    expect(await start("report r1", { folder }).ended).toMatchObject({
      exitCode: 0,
      out: "",
      err: /^r1\.html: \d/,
    });
    expect(readFileSync(join(folder, "r1.html"), "utf8")).toBe(http.body);
    const { out } = await start("report r1 -o other.html --json", { folder }).ended;
    expect(JSON.parse(out)).toEqual({
      ...{ run: "r1", file: join(folder, "other.html") },
      bytes: Buffer.byteLength(String(http.body)),
    });
  });

  it("over HTTP is a download, so that nothing of it has the origin of the API", async () => {
    const { http } = await finished();
    expect(http.status).toBe(200);
    expect(http.header("content-disposition")).toBe('attachment; filename="r1.html"');
    expect(http.header("content-security-policy")).toBe("sandbox; default-src 'none'");
    expect(http.header("content-type")).toBe("text/html; charset=utf-8");
  });

  it.each([
    ["report r9", 'leasefold: there is no run "r9"\n'],
    ["report r1 -o .", "leasefold: cannot write .: it is a folder\n"],
  ])("%s is refused, and leaves no file", async (line, err) => {
    const { start } = await finished();
    expect(await start(line, { folder }).ended).toEqual({ exitCode: 2, out: "", err });
  });
});
