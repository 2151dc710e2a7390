/**
 * HTML as text that was escaped where it was put in: a template escapes every value that is not HTML itself, so a run, a
 * calculation or a file can name itself as it likes.
 */
export class Html {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

export type Value = Html | string | number | undefined | false | readonly Value[];

/** Values belong between tags or into double quotes; lists are joined, and `undefined` and `false` are nothing. */
export const html = (strings: TemplateStringsArray, ...values: readonly Value[]): Html =>
  new Html(
    strings.map((text, index) => text + (index < values.length ? textOf(values[index]) : "")).join(""),
  );

function textOf(value: Value): string {
  if (value === undefined || value === false) return "";
  if (value instanceof Html) return value.text;
  return typeof value === "object" ? value.map(textOf).join("") : escaped(String(value));
}

const entities: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

/** Also makes controls visible: those of direction would let a text look like another one. */
const escaped = (text: string): string =>
  text
    .toWellFormed()
    // biome-ignore lint/suspicious/noControlCharactersInRegex: exactly these have no place in a page.
    .replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, "\ufffd")
    .replace(/[&<>"']/g, (character) => entities[character] ?? "");

/** Cut to a length, and saying so. */
export const cut = (text: string, characters: number): string =>
  text.length <= characters
    ? text
    : `${text.slice(0, characters)} … (${text.length - characters} more characters)`;

/** The title of a column, or of a column of numbers, which are aligned at their ends. */
type Column = string | { readonly right: string };

/** A table with a caption for readers who do not see the chart above it. */
export const table = (
  columns: readonly Column[],
  rows: readonly (readonly Value[])[],
  caption?: string,
): Html => html`<div class="scroll"><table cellpadding="4">${caption && html`<caption>${caption}</caption>`}
<thead><tr>${columns.map((column) => html`<th scope="col"${aligned(column)}>${titleOf(column)}</th>`)}</tr></thead>
<tbody>${rows.map((row) => [html`<tr>${row.map((cell, at) => html`<td${aligned(columns[at])}>${cell}</td>`)}</tr>`, "\n"])}</tbody></table></div>`;

const titleOf = (column: Column): string => (typeof column === "string" ? column : column.right);
/** The attribute works where a host drops the style. */
const aligned = (column: Column = ""): Value => typeof column === "object" && html` class="n" align="right"`;

/** Names and values, one pair a row. */
export const facts = (pairs: readonly (readonly [string, Value])[]): Html =>
  html`<table class="facts" cellpadding="4"><tbody>${pairs
    .filter(([, value]) => value !== undefined)
    .map(
      ([name, value]) => html`<tr><th scope="row" align="left">${name}</th><td>${value}</td></tr>
`,
    )}</tbody></table>`;

export const section = (title: string, ...content: readonly Value[]): Html => html`<section>
<h2>${title}</h2>
${content}
</section>
`;

export const dim = (text: string): Html => html`<p class="dim">${text}</p>`;

/** JSON with a line for each value that is too long for one, so that ranges and terms stay readable. */
export function jsonText(value: unknown, indent = ""): string {
  const short = JSON.stringify(value) ?? "";
  if (typeof value !== "object" || value === null || indent.length + short.length <= 88) return short;
  const inner = `${indent}  `;
  const isList = Array.isArray(value);
  const lines = Object.entries(value)
    .filter(([, one]) => one !== undefined)
    .map(([name, one]) => `${inner}${isList ? "" : `${JSON.stringify(name)}: `}${jsonText(one, inner)}`);
  const [open, close] = isList ? ["[", "]"] : ["{", "}"];
  return `${open}\n${lines.join(",\n")}\n${indent}${close}`;
}
