import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { givePage } from "../../src/app/api/page.ts";
import { apiRequest } from "./apiWorld.ts";

const folder = mkdtempSync(join(tmpdir(), "leasefold-page-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const files = {
  "index.html": "<!doctype html>",
  "app.js": "void 0;",
  "app.css": "body{}",
  "app.js.map": "{}",
};
for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);

const lines: unknown[] = [];
const log = { warn: () => {}, error: (line: unknown) => void lines.push(line) };
const give = (path: string, file?: string, headers: Record<string, string> = {}) =>
  givePage(apiRequest(path, { headers, ...(file === undefined ? {} : { params: { file } }) }), log, [folder]);

describe("the page", () => {
  it.each([
    [undefined, "index.html", "text/html; charset=utf-8"],
    ["app.js", "app.js", "text/javascript; charset=utf-8"],
    ["app.css", "app.css", "text/css; charset=utf-8"],
  ] as const)(
    "gives %s as %s of its type, under a policy that lets only own code run",
    (file, name, type) => {
      const answer = give(file === undefined ? "ui" : `ui/${file}`, file);
      expect([answer.status, String(answer.body)]).toEqual([200, files[name]]);
      const policy = String(answer.headers?.["content-security-policy"]).split("; ");
      expect(policy).toEqual(
        expect.arrayContaining([
          "default-src 'none'",
          "script-src 'self'",
          "connect-src 'self'",
          "frame-ancestors 'none'",
          "require-trusted-types-for 'script'",
          "trusted-types 'none'",
        ]),
      );
      expect(policy.join(" ")).not.toMatch(/unsafe|\*|https?:/);
      expect(answer.headers).toMatchObject({
        "content-type": type,
        "x-content-type-options": "nosniff",
        "cache-control": "no-cache",
      });
    },
  );

  it("answers 304 to who has the file, and the file to who has another", () => {
    const { headers = {} } = give("ui/app.js", "app.js");
    const etag = headers["etag"] ?? "";
    const known = give("ui/app.js", "app.js", { "if-none-match": etag });
    expect([known.status, known.body]).toEqual([304, undefined]);
    expect(give("ui/app.css", "app.css", { "if-none-match": etag }).status).toBe(200);
  });

  it("gives no other file, wherever it lies", () => {
    for (const file of [
      "app.js.map",
      "../index.cjs",
      "..%2findex.cjs",
      "index.html",
      "",
      "__proto__",
      "constructor",
    ])
      expect([file, give("ui/x", file).status]).toEqual([file, file === "index.html" ? 200 : 404]);
  });

  it("moves to the address from which its files are found", () => {
    expect(give("ui/")).toMatchObject({ status: 308, headers: { location: "../ui" } });
    expect(new URL("../ui", "https://host/api/ui/").pathname).toBe("/api/ui");
  });

  it("that the build lacks is an error that says so, in the log too", () => {
    const answer = givePage(apiRequest("ui"), log, [join(folder, "none")]);
    expect(answer).toMatchObject({ status: 500, jsonBody: { code: "no-page" } });
    expect(lines.at(-1)).toMatch(/npm run build/);
  });
});
