import { CalculationError } from "../../../model/errors.ts";
import type { RangeInput } from "../records.ts";

/**
 * Places of the wanted columns among those of a file. Throws `CalculationError` naming the file and the columns it has
 * where one is missing, and where a name stands twice, so that nobody sums the wrong one.
 */
export function columnPlaces({ file, columns = [] }: RangeInput, wanted: readonly string[]): number[] {
  return wanted.map((name) => {
    const place = columns.indexOf(name);
    if (place === -1) {
      const message = `${file.path} has no column ${JSON.stringify(name)}; it has ${shown(columns)}`;
      throw new CalculationError("no-column", message);
    }
    if (columns.includes(name, place + 1)) {
      const message = `${file.path} has two columns ${JSON.stringify(name)}; give them different names, or read it without its header`;
      throw new CalculationError("ambiguous-column", message);
    }
    return place;
  });
}

const shownMax = 40;

function shown(columns: readonly string[]): string {
  const names = columns.slice(0, shownMax).map((one) => (/^[\w.-]+$/.test(one) ? one : JSON.stringify(one)));
  return columns.length > shownMax
    ? `${names.join(", ")} and ${columns.length - shownMax} more`
    : names.join(", ");
}
