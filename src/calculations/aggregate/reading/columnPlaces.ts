import { CalculationError } from "../../../model/errors.ts";
import type { RangeInput } from "../records.ts";
import { quotedCell } from "../rows/cellText.ts";

/**
 * Places of the wanted columns among those of a CSV file. Throws `CalculationError` naming the file, the columns that are
 * missing and those it has, and where a wanted name stands twice, so that nobody sums the wrong one.
 */
export function columnPlaces(
  { file, columns = [] }: Pick<RangeInput, "file" | "columns">,
  wanted: readonly string[],
): number[] {
  const missing = wanted.filter((name) => !columns.includes(name)).map((name) => JSON.stringify(name));
  if (missing.length > 0) {
    const what = `column${missing.length === 1 ? "" : "s"} ${missing.join(", ")}`;
    throw new CalculationError("no-column", `${file.path} has no ${what}; it has ${shown(columns)}`);
  }
  return wanted.map((name) => {
    const place = columns.indexOf(name);
    if (columns.includes(name, place + 1)) {
      const message = `${file.path} has two columns ${JSON.stringify(name)}; give them different names, or read it without its header`;
      throw new CalculationError("ambiguous-column", message);
    }
    return place;
  });
}

const shownMax = 40;

function shown(columns: readonly string[]): string {
  const names = columns.slice(0, shownMax).map((one) => (/^[\w.-]{1,80}$/.test(one) ? one : quotedCell(one)));
  return columns.length > shownMax
    ? `${names.join(", ")} and ${columns.length - shownMax} more`
    : names.join(", ");
}
