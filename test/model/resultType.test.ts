import { describe, expect, test } from "vitest";
import {
  contentTypeSchema,
  extensionSchema,
  mayBeShown,
  resultBlobSchema,
} from "../../src/engine/model/resultType.ts";
import { resultBlobs } from "../../src/engine/model/runBlobs.ts";

describe("the content type of a result", () => {
  test.each([
    "text/csv",
    "application/x-ndjson",
    "image/svg+xml",
    "application/vnd.ms-excel.sheet.macroEnabled.12",
    "text/csv; charset=utf-8",
    'text/csv;charset=utf-8; header="present, first"',
  ])("may be %s", (contentType) => {
    expect(contentTypeSchema.safeParse(contentType).success).toBe(true);
  });

  test.each([
    ["", "empty"],
    ["csv", "no type"],
    ["text/csv\r\nset-cookie: a=b", "a header of its own"],
    ["text/csv\n", "a line end"],
    ["text/csv; charset=utf-8\u0000", "a null"],
    ["text/html, text/csv", "two types"],
    ['text/csv; a="\\""', "an escape"],
    ["text/\u00e4", "a letter outside ASCII"],
    [`text/${"x".repeat(300)}`, "too many characters"],
    [`text/csv${"; a=b".repeat(100)}`, "too many parameters"],
  ])("cannot be %j: %s", (contentType) => {
    expect(contentTypeSchema.safeParse(contentType).success).toBe(false);
  });

  test("opens in a browser only where nothing in it can run", () => {
    const shown = ["application/json", "text/csv; charset=utf-8", "image/png", "Text/Plain"];
    const saved = [
      "text/html",
      "image/svg+xml",
      "text/xml",
      "application/pdf",
      "application/xhtml+xml",
      "TEXT/HTML",
    ];
    expect(shown.filter(mayBeShown)).toEqual(shown);
    expect(saved.filter(mayBeShown)).toEqual([]);
  });
});

test("an extension is 1 to 16 letters and digits", () => {
  const right = ["json", "csv", "7z", "a".repeat(16)];
  const wrong = ["", "tar.gz", "../../inputs/x", "a/b", "csv ", "a\u0000", "a".repeat(17), "\u00e4"];
  expect(right.every((one) => extensionSchema.safeParse(one).success)).toBe(true);
  expect(wrong.filter((one) => extensionSchema.safeParse(one).success)).toEqual([]);
});

test("a result's blob is named as this app names it, and leads into no other folder", () => {
  const at = resultBlobs("my_Run-1", "0123abcd");
  const right = [at.result(1, "1-1-aB3_efgh", "csv"), at.answerBytes("tag-1", "1-1-abcdefgh", "json")];
  const wrong = [
    "r/u/001/t/result.",
    "r/u/../../x.json",
    "../x.json",
    "/x.json",
    "r//x.json",
    "r/u/x.html/..",
    "r/u/x",
  ];
  expect(right.every((one) => resultBlobSchema.safeParse(one).success)).toBe(true);
  expect(wrong.filter((one) => resultBlobSchema.safeParse(one).success)).toEqual([]);
});
