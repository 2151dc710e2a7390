import { csvParse } from "d3-dsv";
import fc from "fast-check";
import { expect, test } from "vitest";
import { csvRecords, previewBytesMax, previewOf } from "../run/result/preview.ts";
import { shownResult } from "../run/result/shownResult.ts";
import { viewOf } from "./browser/fixture/fixtureRuns.ts";

const bytesOf = (text: string) => new TextEncoder().encode(text);

test.each([
  [
    "application/json",
    '{"a":1,"b":"x","c":null}',
    {
      kind: "facts",
      facts: [
        ["a", "1"],
        ["b", "x"],
        ["c", "null"],
      ],
    },
  ],
  [
    "application/json; charset=utf-8",
    '[{"a":1},{"a":2,"b":[3]}]',
    {
      kind: "table",
      columns: ["a", "b"],
      rows: [
        ["1", ""],
        ["2", "[3]"],
      ],
      more: 0,
    },
  ],
  [
    "application/json",
    '{"price":10.5,"strikes":[90,100],"greeks":{"delta":0.5},"rows":[{"a":1}],"pairs":[["x",1],["y"]]}',
    {
      kind: "parts",
      parts: [
        {
          title: "",
          preview: {
            kind: "facts",
            facts: [
              ["price", "10.5"],
              ["strikes", "90, 100"],
            ],
          },
        },
        { title: "greeks", preview: { kind: "facts", facts: [["delta", "0.5"]] } },
        { title: "rows", preview: { kind: "table", columns: ["a"], rows: [["1"]], more: 0 } },
        {
          title: "pairs",
          preview: {
            ...{ kind: "table", columns: ["1", "2"], more: 0 },
            rows: [
              ["x", "1"],
              ["y", ""],
            ],
          },
        },
      ],
    },
  ],
  [
    "application/json",
    '{"a":[{"b":1},2]}',
    {
      kind: "text",
      text: '{\n  "a": [\n    {\n      "b": 1\n    },\n    2\n  ]\n}',
      cut: false,
    },
  ],
  [
    "application/json",
    '{"a":9007199254740993,"b":1e400,"c":1.50}',
    {
      kind: "facts",
      facts: [
        ["a", "9007199254740993"],
        ["b", "1e400"],
        ["c", "1.5"],
      ],
    },
  ],
  [
    "application/json",
    '[{"a":9007199254740993}]',
    { kind: "table", columns: ["a"], rows: [["9007199254740993"]], more: 0 },
  ],
  ["application/json", '{"a":[9007199254740993]}', { kind: "facts", facts: [["a", "9007199254740993"]] }],
  [
    "application/json",
    '{"a":[{"b":9007199254740993},2]}',
    { kind: "text", text: '{"a":[{"b":9007199254740993},2]}', cut: false },
  ],
  ["application/json", "{broken", { kind: "text", text: "{broken", cut: false }],
  [
    "application/x-ndjson",
    '{"a":1}\n{"b":"x"}\n',
    {
      kind: "table",
      columns: ["a", "b"],
      rows: [
        ["1", ""],
        ["", "x"],
      ],
      more: 0,
    },
  ],
  ["application/x-ndjson", '{"a":1}\n2\n', { kind: "text", text: '{"a":1}\n2\n', cut: false }],
  [
    "text/csv",
    'a,b\n1,"x, ""y"""\n',
    { kind: "table", columns: ["a", "b"], rows: [["1", 'x, "y"']], more: 0 },
  ],
  ["text/html", "<b>x</b>", { kind: "text", text: "<b>x</b>", cut: false }],
  ["image/png", "x", { kind: "picture", contentType: "image/png" }],
  ["image/svg+xml", "<svg/>", { kind: "none", why: "there is no preview of image/svg+xml; download it" }],
])("a result of type %s (%s) is previewed", (type, text, preview) => {
  expect(previewOf(type, bytesOf(text))).toEqual(preview);
});

test("a long table and a large result are cut, and say so", () => {
  const csv = `n\n${Array.from({ length: 250 }, (_, index) => index).join("\n")}\n`;
  expect(previewOf("text/csv", bytesOf(csv))).toMatchObject({ kind: "table", more: 150 });
  expect(previewOf("text/plain", new Uint8Array(previewBytesMax + 1))).toMatchObject({ kind: "none" });
});

test("CSV is read as by a library, whatever its fields hold", () => {
  const cell = fc.string({ unit: fc.constantFrom("a", ",", '"', "\n", " ", "é"), maxLength: 5 });
  const quoted = (text: string) => `"${text.replaceAll('"', '""')}"`;
  fc.assert(
    fc.property(
      fc.array(fc.array(cell, { minLength: 2, maxLength: 2 }), { minLength: 1, maxLength: 6 }),
      (rows) => {
        const text = `x,y\n${rows.map((row) => row.map(quoted).join(",")).join("\n")}\n`;
        const library = csvParse(text).map((row) => [row["x"], row["y"]]);
        expect(csvRecords(text, 100).records.slice(1)).toEqual(library);
      },
    ),
  );
});

const packs = { total: 10, done: 4, failed: 0, sent: 10, resent: 0 };
const result = {
  ...{ generation: 1, contentType: "text/plain", bytes: 1, sha256: "s", folded: 1 },
  ...{ complete: true, missing: [], code: [] },
};

test("a page that names no generation shows an older result as such, and offers what the newest has computed", () => {
  const retried = viewOf({
    ...{ run: "x", word: "cancelled", phase: "cancelled", active: false, generation: 3, packs, result },
  });
  const note = "this result is of generation 1; generation 3 was cancelled";
  const older = { generation: 1, result, note, soFar: true };
  expect([shownResult(retried, undefined), shownResult(retried, 1)]).toEqual([older, older]);
  // The newest has none, which is known without asking for it.
  expect(shownResult(retried, 3)).toEqual({ generation: 3, soFar: true });
  expect(shownResult(retried, 2)).toEqual({ generation: 2, earlier: 2, soFar: false });
  const newest = { ...result, generation: 3 };
  const complete = viewOf({ ...retried, word: "complete", phase: "complete", result: newest });
  expect(shownResult(complete, undefined)).toEqual({ generation: 3, result: newest, soFar: false });
  const { result: _none, ...works } = viewOf({
    ...retried,
    word: "computing",
    phase: "computing",
    active: true,
  });
  expect(shownResult(works, undefined)).toEqual({ generation: 3, soFar: true });
});
