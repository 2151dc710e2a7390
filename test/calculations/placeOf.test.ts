import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, test } from "vitest";
import { guarded } from "../../src/engine/calculation/encodePart.ts";
import { placeOf, userFrames } from "../../src/engine/calculation/placeOf.ts";

const own = resolve(import.meta.dirname, "../../src");
const ownFile = join(own, "worker", "threads", "thread.ts");
const ownUrl = pathToFileURL(join(own, "leasefold.mjs")).href;

const withStack = (...lines: readonly string[]): Error =>
  Object.assign(new Error("boom"), { stack: lines.join("\n") });
const frame = (where: string): string => `    at compute (${where})`;

describe("the file and line where user code failed", () => {
  test.each([
    ["the first frame of user code", ["Error: boom", frame("/app/mine.ts:3:9")], " (mine.ts:3)"],
    [
      "behind frames of this program, of both kinds of modules",
      ["Error: boom", frame(`${ownUrl}:1:2`), frame(`${ownFile}:1:2`), frame("file:///app/mine.mjs:4:9")],
      " (mine.mjs:4)",
    ],
    [
      "behind frames of Node and of packages",
      [
        "Error: boom",
        "    at JSON.parse (<anonymous>)",
        frame("node:internal/fs:1:2"),
        frame("/app/node_modules/d3/d3.js:1:2"),
        "    at async file:///app/mine.js:5:9",
      ],
      " (mine.js:5)",
    ],
    ["a file that does not parse", ["/app/mine.ts:6", "const", "     ^", "SyntaxError: no"], " (mine.ts:6)"],
    [
      "a folder that only begins like this program's",
      ["Error: boom", frame(`${own}-of-mine/mine.ts:7:9`)],
      " (mine.ts:7)",
    ],
    [
      "no file that the message names",
      ["Error: see /app/other.js:1", "  /app/other.js:1", frame("/app/mine.ts:8:9")],
      " (mine.ts:8)",
    ],
    ["nothing if no stack frame is of user code", ["Error: boom", frame(`${ownFile}:1:2`)], ""],
  ])("the location is that of %s", (_what, lines, place) => {
    expect(placeOf(withStack(...lines))).toBe(place);
  });

  test("the location is empty for a value that is no error", () => {
    expect([placeOf("boom"), placeOf(undefined), userFrames({ stack: "    at x (/a/b.ts:1:1)" })]).toEqual([
      "",
      "",
      [],
    ]);
  });

  test("userFrames returns every frame of user code in order", () => {
    const frames = [frame("/app/deep.ts:2:9"), frame("/app/mine.ts:9:9")];
    const error = withStack(
      "Error: boom",
      ...frames,
      frame(`${ownFile}:1:2`),
      frame(join(own, "calculations/runJob.ts:1:2")),
    );
    expect(userFrames(error)).toEqual(frames);
  });
});

test.each([
  [
    new TypeError("fetch failed", { cause: new Error("connect ECONNREFUSED 127.0.0.1:1") }),
    "fetch failed: connect ECONNREFUSED 127.0.0.1:1",
  ],
  [
    new TypeError("fetch failed", { cause: Object.assign(new AggregateError([]), { code: "ETIMEDOUT" }) }),
    "fetch failed: ETIMEDOUT",
  ],
  [new Error("no rows: empty", { cause: new Error("empty") }), "no rows: empty"],
])("an error of user code tells its cause, unless its message does: %s", async (error, told) => {
  error.stack = "";
  await expect(guarded("chunk 3", () => Promise.reject(error))).rejects.toThrow(`chunk 3: ${told}`);
});
