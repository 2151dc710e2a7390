/**
 * What is told of DuckDB's errors: they may quote cells, which must not get into logs and records. A message whose form is
 * not known here is told by its kind alone.
 */

/** Errors that quote the query and nothing else, where no row was read yet. */
const quoting = /^(Binder|Parser|Catalog|Syntax|Permission|Not implemented) Error/;

/** The error of a statement that could not be prepared. */
export function toldOfText(text: string): string {
  if (!quoting.test(text)) return toldOfRows(text, "");
  const [first = ""] = text.split("\n\n");
  // A list of candidates may have hundreds.
  return first.replaceAll(/\s+/g, " ").replace(/^(.{300}\S*) .*$/, "$1 …");
}

/** How messages begin before they quote a cell. Others may quote one anywhere, as those of regular expressions do. */
const openings = new RegExp(
  "^(Could not (convert string|cast value|parse string|decode string)|Type \\w+ with value|Cannot cast array of size|" +
    "invalid (date|timestamp) field format|(time|date) field value out of range|(Date|Value) out of range|" +
    "Overflow in \\w+ of \\w+|cannot take [a-z ]+|extract specifier|Map keys must be unique|" +
    "More than one row returned by a subquery|json_group_object key cannot be NULL|Malformed JSON|JSON transform error|Error when sniffing file)",
);

/** Of an error that may quote cells: its kind, how it begins, and a column that the statement names. */
export function toldOfRows(text: string, statement: string): string {
  const [, kind = "Error", rest = ""] = /^([A-Za-z ]+ Error): (.*)/s.exec(text) ?? [];
  const opening = openings.exec(rest)?.[0];
  const column = /when casting from source column (\w+)/.exec(rest)?.[1];
  const where = column !== undefined && statement.includes(column) ? ` in column ${column}` : "";
  return opening === undefined ? kind : `${kind}: ${opening}${where}`;
}
