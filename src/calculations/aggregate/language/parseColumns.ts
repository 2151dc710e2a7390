import { CalculationError } from "../../../model/errors.ts";
import { scanner } from "./scanner.ts";

/** `year, "Airport Name"` → its columns; of an empty text none. Throws `CalculationError` with the position. */
export function parseColumns(text: string): string[] {
  const from = scanner(text);
  const columns: string[] = [];
  if (from.atEnd()) return columns;
  for (;;) {
    from.atEnd();
    const at = from.at;
    const column = from.column(",");
    if (columns.includes(column)) {
      throw new CalculationError("bad-query", `position ${at + 1}: ${column} is there twice`);
    }
    columns.push(column);
    if (from.atEnd()) return columns;
    if (from.take(/,/y) === undefined) from.fail("a comma");
  }
}
