import { buffer } from "node:stream/consumers";
import { csvParseRows } from "d3-dsv";
import { bytes, count } from "../../model/figures.ts";
import { parseHeld, withHeldNumbers } from "../../model/heldNumbers.ts";
import { isRecord, valueText } from "../../model/json.ts";
import { baseContentType } from "../../model/resultType.ts";
import type { Manifest } from "../../model/run.ts";
import type { Client } from "../client.ts";
import { failures } from "../failures.ts";
import { durations } from "../inspection/durations.ts";
import { packMap } from "../inspection/packMap.ts";
import { timeline } from "../inspection/timeline.ts";
import { findManifest, openResult } from "../result.ts";
import { status } from "../status.ts";
import { cut, dim, facts, type Html, html, jsonText, table } from "./html.ts";

export type ReportFacts = Awaited<ReturnType<typeof reportFacts>>;

export async function reportFacts(client: Client, id: string) {
  const view = await status(client, id);
  const generation = view.result?.generation;
  const manifest = generation === undefined ? undefined : await findManifest(client, id, { generation });
  const [map, times, terms, failed, preview] = await Promise.all([
    packMap(client, id),
    durations(client, id),
    timeline(client, id),
    failures(client, id),
    manifest && readPreview(client, manifest),
  ]);
  return { view, map, durations: times, timeline: terms, failures: failed, manifest, preview };
}

/** A text is shown up to here, and a picture only if it is whole within. */
const textBytesMax = 64 * 1024;
const pictureBytesMax = 4 * 1024 * 1024;
const rowsMax = 25;
const columnsMax = 12;
const cellCharactersMax = 200;
const textCharactersMax = 12_000;

/** The beginning of a result, as read. */
export type Preview = Pick<Manifest, "contentType" | "bytes"> & { readonly body: Buffer };

/** Reads what a preview shows: nothing of a type that it cannot show. A result that is read whole has its hash checked. */
async function readPreview(client: Client, manifest: Manifest): Promise<Preview> {
  const { contentType, bytes: size } = manifest;
  const type = baseContentType(contentType);
  const isPicture = type === "image/png";
  const wanted = isPicture ? pictureBytesMax : isText(type) ? textBytesMax : 0;
  const count = isPicture && size > wanted ? 0 : Math.min(size, wanted);
  if (count === 0) return { contentType, bytes: size, body: Buffer.alloc(0) };
  const { body } = await openResult(client, manifest, { offset: 0, count });
  return { contentType, bytes: size, body: await buffer(body) };
}

const isText = (type: string): boolean =>
  /^text\/(plain|csv|tab-separated-values)$|^application\/(x-)?(json|ndjson|jsonl)$/.test(type);

/** Pure: a picture, a table, or text. Whatever a calculation wrote is text here, never markup. */
export function previewHtml({ contentType, bytes: size, body }: Preview): Html {
  const type = baseContentType(contentType);
  if (size === 0) return dim("The result is empty.");
  if (body.byteLength === 0)
    return dim(`No preview: ${bytes(size)} of ${contentType}. Download it to look at it.`);
  if (type === "image/png") {
    return html`<p><img alt="the result, a picture" src="data:image/png;base64,${body.toString("base64")}"></p>`;
  }
  const isWhole = body.byteLength === size;
  const text = body.toString("utf8");
  const shown = (type === "application/json" && isWhole && jsonHtml(text)) || csvHtml(type, text, isWhole);
  const note = !isWhole && dim(`The first ${bytes(body.byteLength)} of ${bytes(size)}.`);
  return html`${note}${shown || html`<pre>${cut(text, textCharactersMax)}</pre>`}`;
}

type Row = Readonly<Record<string, unknown>>;
const isFlat = (row: Row): boolean =>
  Object.values(row).every((value) => typeof value !== "object" || value === null);

/** JSON as names and values, or as a table, where it has that form. */
function jsonHtml(text: string): Html | undefined {
  const value = parsed(text);
  if (value === undefined) return undefined;
  if (isRecord(value) && isFlat(value) && Object.keys(value).length <= rowsMax) {
    return facts(Object.entries(value).map(([name, cell]) => [cut(name, cellCharactersMax), cellText(cell)]));
  }
  if (Array.isArray(value) && value.length > 0 && value.every((row) => isRecord(row) && isFlat(row))) {
    const rows = value as readonly Row[];
    const names = [...new Set(rows.slice(0, rowsMax).flatMap((row) => Object.keys(row)))];
    const cells = rows.map((row) => names.map((name) => (name in row ? cellText(row[name]) : "")));
    return rowsHtml(
      names,
      cells,
      names.map((name) => typeof rows[0]?.[name] === "number"),
      rows.length,
    );
  }
  const shown = withHeldNumbers(text) === text ? jsonText(value) : text;
  return html`<pre>${cut(shown, textCharactersMax)}</pre>`;
}

function parsed(text: string): unknown {
  try {
    return parseHeld(text);
  } catch {
    return undefined;
  }
}

const cellText = (value: unknown): string => cut(valueText(value), cellCharactersMax);

function csvHtml(type: string, text: string, isWhole: boolean): Html | undefined {
  if (type !== "text/csv") return undefined;
  const all = csvParseRows(text);
  // The last line may be cut.
  const [names, ...rows] = isWhole ? all : all.slice(0, -1);
  if (names === undefined) return undefined;
  const isNumber = names.map((_, at) => rows.length > 0 && /^-?\d/.test(rows[0]?.[at] ?? ""));
  const cells = rows.map((row) => row.map(cellText));
  return rowsHtml(names.map(cellText), cells, isNumber, isWhole ? rows.length : undefined);
}

/** `total`: undefined where only a part was read. */
function rowsHtml(
  names: readonly string[],
  rows: readonly (readonly string[])[],
  isNumber: readonly boolean[],
  total: number | undefined,
): Html {
  const columns = names.slice(0, columnsMax).map((name, at) => (isNumber[at] ? { right: name } : name));
  const shown = rows.slice(0, rowsMax).map((row) => row.slice(0, columnsMax));
  const isAll = total === shown.length && names.length <= columnsMax;
  const of = total === undefined ? "" : ` of ${count(total)}`;
  const left = names.length > columnsMax ? `, ${columnsMax} of ${names.length} columns` : "";
  const caption = isAll ? undefined : `the first ${count(shown.length)}${of} rows${left}`;
  return table(columns, shown, caption);
}
