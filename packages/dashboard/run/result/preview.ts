import { parseHeld, withHeldNumbers } from "../../../../src/engine/model/heldNumbers.ts";
import { isRecord, valueText } from "../../../../src/engine/model/json.ts";

/** What a result looks like on the page; nothing of it is ever read as HTML. */
export type Preview =
  | {
      readonly kind: "table";
      readonly columns: readonly string[];
      readonly rows: readonly (readonly string[])[];
      readonly more: number;
    }
  | { readonly kind: "facts"; readonly facts: readonly (readonly [string, string])[] }
  | { readonly kind: "text"; readonly text: string; readonly cut: boolean }
  /** Values that are not simple, each under its name. */
  | {
      readonly kind: "parts";
      readonly parts: readonly { readonly title: string; readonly preview: Preview }[];
    }
  | { readonly kind: "picture"; readonly contentType: string }
  | { readonly kind: "none"; readonly why: string };

const rowsMax = 100;
const columnsMax = 50;
const factsMax = 60;
const textMax = 20_000;
/** Text beyond this is not decoded: a preview is for eyes. */
export const previewBytesMax = 4 * 1024 * 1024;

const base = (contentType: string): string => (contentType.split(";")[0] ?? "").trim().toLowerCase();

/** Pure: how bytes of a content type are shown. */
export function previewOf(contentType: string, bytes: Uint8Array): Preview {
  const type = base(contentType);
  if (type === "image/png") return { kind: "picture", contentType: type };
  const isText = type.startsWith("text/") || type === "application/json" || type === "application/x-ndjson";
  if (!isText)
    return { kind: "none", why: `there is no preview of ${type || "an unknown type"}; download it` };
  if (bytes.byteLength > previewBytesMax)
    return { kind: "none", why: "too large for a preview; download it" };
  const text = new TextDecoder().decode(bytes);
  if (type === "application/json") return jsonPreview(text);
  if (type === "text/csv") return csvPreview(text);
  if (type === "application/x-ndjson") return linesPreview(text);
  return textPreview(text);
}

const textPreview = (text: string): Preview => ({
  kind: "text",
  text: text.slice(0, textMax),
  cut: text.length > textMax,
});

function jsonPreview(text: string): Preview {
  let value: unknown;
  try {
    value = parseHeld(text);
  } catch {
    return textPreview(text);
  }
  return (
    valuePreview(value, partsDeepMax) ??
    textPreview(withHeldNumbers(text) === text ? JSON.stringify(value, null, 2) : text)
  );
}

/** Values within values that have a title of their own. */
const partsDeepMax = 2;

/** Undefined for a value that is no table and no record of few values. */
function valuePreview(value: unknown, deep: number): Preview | undefined {
  const list = tableOf(value);
  if (list !== undefined || !isRecord(value)) return list;
  const entries = Object.entries(value);
  if (entries.length > factsMax) return undefined;
  const facts: (readonly [string, string])[] = [];
  const parts: { readonly title: string; readonly preview: Preview }[] = [];
  for (const [title, one] of entries) {
    const text = simpleText(one);
    const preview = text === undefined && deep > 0 ? valuePreview(one, deep - 1) : undefined;
    if (text !== undefined) facts.push([title, text]);
    else if (preview === undefined) return undefined;
    else parts.push({ title, preview });
  }
  if (parts.length === 0) return { kind: "facts", facts };
  const first = facts.length === 0 ? [] : [{ title: "", preview: { kind: "facts", facts } as const }];
  return { kind: "parts", parts: [...first, ...parts] };
}

const listedMax = 20;

/** The text of a value on one line: of a text, a number and a short list of these. */
function simpleText(value: unknown): string | undefined {
  if (Array.isArray(value)) {
    const texts =
      value.length > listedMax
        ? [undefined]
        : value.map((one) => (Array.isArray(one) ? undefined : simpleText(one)));
    return texts.includes(undefined) ? undefined : texts.join(", ");
  }
  return isRecord(value) ? undefined : valueText(value);
}

function linesPreview(text: string): Preview {
  try {
    return tableOf(text.trimEnd().split("\n").map(parseHeld)) ?? textPreview(text);
  } catch {
    return textPreview(text);
  }
}

/** A list of records is a table, with the columns of all its shown rows, and so is one of lists. */
function tableOf(value: unknown): Preview | undefined {
  if (!Array.isArray(value) || value.length === 0) return undefined;
  const first: readonly unknown[] = value.slice(0, rowsMax);
  if (first.every((row) => Array.isArray(row))) {
    const columns = Array.from({
      length: Math.min(columnsMax, Math.max(...first.map(({ length }) => length))),
    });
    const rows = first.map((row) => columns.map((_, at) => (at in row ? valueText(row[at]) : "")));
    return {
      kind: "table",
      columns: columns.map((_, at) => String(at + 1)),
      rows,
      more: value.length - rows.length,
    };
  }
  if (!first.every(isRecord)) return undefined;
  const shown = first as readonly Readonly<Record<string, unknown>>[];
  const columns = [...new Set(shown.flatMap((row) => Object.keys(row)))].slice(0, columnsMax);
  const rows = shown.map((row) => columns.map((name) => (name in row ? valueText(row[name]) : "")));
  return { kind: "table", columns, rows, more: value.length - shown.length };
}

function csvPreview(text: string): Preview {
  const { records, more } = csvRecords(text, rowsMax + 1);
  const [columns = [], ...rows] = records.map((record) => record.slice(0, columnsMax));
  return { kind: "table", columns, rows, more };
}

/** The first records of a CSV (RFC 4180), and how many lines follow, which is exact where no field holds a line break. */
export function csvRecords(text: string, max: number) {
  const records: string[][] = [];
  const field = /("(?:[^"]|"")*"|[^,\r\n]*)(,|\r?\n|\r|$)/y;
  let record: string[] = [];
  while (records.length < max && field.lastIndex < text.length) {
    const match = field.exec(text);
    if (match === null) break;
    const [, value = "", end = ""] = match;
    record.push(/^".*"$/s.test(value) ? value.slice(1, -1).replaceAll('""', '"') : value);
    if (end === ",") {
      if (field.lastIndex < text.length) continue;
      record.push("");
    }
    records.push(record);
    record = [];
  }
  const rest = field.lastIndex === 0 ? "" : text.slice(field.lastIndex);
  return { records, more: rest.trim() === "" ? 0 : rest.trimEnd().split(/\r?\n|\r/).length };
}
