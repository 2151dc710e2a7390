import type { Field } from "../records.ts";

/** A cell is the user's data, which may be a megabyte long and is none of a log's business. */
const cellCharactersMax = 80;

const clipped = (text: string): string =>
  text.length <= cellCharactersMax ? text : `${text.slice(0, cellCharactersMax - 1)}…`;

/** A cell as JSON, for the report within a result: who reads that may read the files. */
export const quotedCell = (cell: Field): string =>
  JSON.stringify(typeof cell === "string" ? clipped(cell) : cell);

/**
 * What a cell looks like, for errors, which are logged: each letter as `a`, each digit as `9`, whatever is neither these nor
 * ASCII punctuation or a blank as `?`.
 */
export const shapeOf = (cell: Field): string =>
  typeof cell === "string"
    ? `text like ${JSON.stringify(
        clipped(cell)
          .replace(/\p{L}/gu, "a")
          .replace(/\p{Nd}/gu, "9")
          .replace(/[^ -~…]/gu, "?"),
      )}`
    : `a ${typeof cell}`;
