import { CalculationError } from "../../model/errors.ts";
import type { JsonValue, ResultBytes } from "../contract.ts";
import { compareFields, sortable } from "./fields.ts";
import { type PartialBytes, readGroups, readReport } from "./partial/partial.ts";
import type { Query } from "./query.ts";

/** One group of the result: its key, then the answers. */
type ResultRow = readonly JsonValue[];

/** The groups in the order of their keys. Throws `CalculationError` `number-overflow` beyond the range of doubles. */
function resultRows(query: Query, partial: PartialBytes): ResultRow[] {
  const rows = [];
  for (const { key, states } of readGroups(partial, query.measures)) {
    const answers = query.answers.map(({ name, of }) => {
      const answer = of(states);
      if (typeof answer !== "number" || Number.isFinite(answer)) return answer;
      throw new CalculationError(
        "number-overflow",
        `${name} of a group is beyond the range of double numbers; leave it out, or its rows with --where`,
      );
    });
    rows.push({ key: key.map(sortable), row: [...key, ...answers] });
  }
  rows.sort((a, b) => {
    for (const [at, left] of a.key.entries()) {
      const order = compareFields(left, b.key[at] ?? left);
      if (order !== 0) return order;
    }
    return 0;
  });
  return rows.map(({ row }) => row);
}

export const outputs = ["json", "csv", "ndjson"] as const;
export type Output = (typeof outputs)[number];

const contentTypes: Readonly<Record<Output, string>> = {
  json: "application/json",
  csv: "text/csv; charset=utf-8",
  ndjson: "application/x-ndjson",
};

/** CSV and NDJSON hold only the groups, so that tools can read them. JSON also holds the report, to which `more` is added. */
export function writeResult(
  query: Query,
  partial: PartialBytes,
  output: Output,
  more: Readonly<Record<string, number>> = {},
): ResultBytes {
  const names = [...query.keys, ...query.answers.map(({ name }) => name)];
  const rows = resultRows(query, partial);
  const body = Buffer.from(
    output === "csv"
      ? lines([names.map(csvText).join(","), ...rows.map((row) => row.map(csvField).join(","))])
      : output === "ndjson"
        ? lines(rows.map((row) => jsonObject(names, row)))
        : jsonDocument(names, rows, partial, more),
  );
  return { body, contentType: contentTypes[output], extension: output };
}

const lines = (all: readonly string[]): string => all.map((line) => `${line}\n`).join("");

function jsonDocument(
  names: readonly string[],
  rows: readonly ResultRow[],
  partial: PartialBytes,
  more: Readonly<Record<string, number>>,
): string {
  const { skipped, badNumbers, absent, ...read } = readReport(partial);
  const missed = absent.length === 0 || read.records === 0 ? {} : { absent };
  const report = { ...more, ...read, groups: rows.length, skipped, badNumbers, ...missed };
  const body = rows.map((row) => `  ${jsonObject(names, row)}`).join(",\n");
  const indented = JSON.stringify(report, null, 1).replaceAll("\n", "\n ");
  return `{\n "rows": [${body === "" ? "" : `\n${body}\n `}],\n "report": ${indented}\n}\n`;
}

/** Not made from an object, which would move names that look like whole numbers to the front. */
const jsonObject = (names: readonly string[], row: ResultRow): string =>
  `{${names.map((name, at) => `${JSON.stringify(name)}:${JSON.stringify(row[at])}`).join(",")}}`;

/** Null is an empty field, empty text (which only NDJSON has) a quoted one, and a list or an object is JSON. */
function csvField(value: JsonValue): string {
  if (value === null) return "";
  return csvText(typeof value === "object" ? JSON.stringify(value) : String(value));
}

/** Quotes where RFC 4180 requires it. Texts that a spreadsheet would read as a formula are not changed. */
const csvText = (text: string): string =>
  text === "" || /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
