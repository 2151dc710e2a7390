import fc from "fast-check";
import { expect, test } from "vitest";
import { aggregate } from "../../../../src/calculations/aggregate.ts";
import { runSerially } from "../../../../src/calculations/leasefold.ts";
import { parseParams } from "../../../../src/calculations/params.ts";
import { memoryFiles } from "../../../support/memoryFiles.ts";

const numRuns = process.env["LEASEFOLD_FULL"] === "1" ? 5_000 : 120;

const text = fc.constantFrom(
  "a",
  "b",
  "ab",
  "é",
  "\u{E000}",
  "😀",
  "a\u{10000}",
  "12",
  "NA",
  "x".repeat(30),
  "",
);
const number = fc.oneof(
  fc.constantFrom("0", "-0", "1.10", "1.1", "7e3", "9007199254740993", "0.30000000000000004", "", "NA"),
  fc.integer({ min: -9_999_999, max: 9_999_999 }).map((cents) => String(cents / 100)),
);
const rows = fc.array(fc.tuple(text, text, number), { maxLength: 30 });
const literal = fc.constantFrom("a", "ab", "", "b", "é", "\u{E000}", "😀", "12");
const operator = fc.constantFrom("=", "!=", "<", "<=", ">", ">=");

const aggregates =
  "count,count(n) as fields,sum(n),mean(n),variance(n),min(n),max(n),p50(n),distinct(t),distinct(n) as numbers,top(t,3),mintext(t),maxtext(n)";

async function resultOf(name: string, content: string, where: string): Promise<string> {
  const given = { source: name, by: "k,t", aggregates, where, badNumbers: "skip", ragged: "skip" };
  const params = parseParams(aggregate, name.endsWith("csv") ? { ...given, nulls: "NA" } : given);
  const { body } = await runSerially(aggregate, params, memoryFiles(new Map([[name, content]]), 100));
  // What is skipped is shown with its offset, which differs.
  return Buffer.from(body)
    .toString()
    .replace(/"(offset|bytes)": \d+/g, "");
}

const condition = (one: string, other: string, value: string): string =>
  `k ${one} '${value}' or n ${other} 1.1`;

test("fields in quotes, which d3-dsv parses, and fields without, which are cut on bytes, give the same answers", async () => {
  await fc.assert(
    fc.asyncProperty(rows, operator, operator, literal, async (table, one, other, value) => {
      const where = condition(one, other, value);
      const plain = table.map((row) => `${row.join(",")}\n`).join("");
      const quoted = table.map((row) => `${row.map((field) => `"${field}"`).join(",")}\n`).join("");
      const mixed = table
        .map(([k, t, n], at) => (at % 2 === 0 ? `${k},"${t}",${n}\n` : `"${k}",${t},"${n}"\n`))
        .join("");
      const answer = await resultOf("data/x.csv", `k,t,n\n${plain}`, where);
      expect(await resultOf("data/x.csv", `k,t,n\n${quoted}`, where)).toBe(answer);
      expect(await resultOf("data/x.csv", `k,t,n\n${mixed}`, where)).toBe(answer);
    }),
    { numRuns },
  );
});

test("lines that JSON.parse reads and lines that are cut on bytes give the same answers", async () => {
  const escaped = (value: string): string =>
    `"${[...Array(value.length).keys()].map((at) => `\\u${value.charCodeAt(at).toString(16).padStart(4, "0")}`).join("")}"`;
  const numberText = (n: string): string => (n === "" || n === "NA" ? "null" : n);
  await fc.assert(
    fc.asyncProperty(rows, operator, operator, literal, async (table, one, other, value) => {
      const where = condition(one, other, value);
      const lines = (make: (row: readonly [string, string, string]) => string): string =>
        table.map((row) => `${make(row)}\n`).join("");
      const plain = lines(([k, t, n]) => `{"k":"${k}","t":"${t}","n":${numberText(n)}}`);
      const escapes = lines(([k, t, n]) => `{"k":${escaped(k)},"t":${escaped(t)},"n":${numberText(n)}}`);
      const nested = lines(([k, t, n]) => `{"other":[{}],"k":"${k}","t":"${t}","n":${numberText(n)}}`);
      const answer = await resultOf("data/x.ndjson", plain, where);
      expect(await resultOf("data/x.ndjson", escapes, where)).toBe(answer);
      expect(await resultOf("data/x.ndjson", nested, where)).toBe(answer);
    }),
    { numRuns },
  );
});
