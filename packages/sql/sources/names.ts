import { CalculationError } from "../../../src/engine/model/errors.ts";

/** DuckDB compares names by the case of ASCII letters alone. */
export const lowerName = (name: string): string => name.replace(/[A-Z]/g, (letter) => letter.toLowerCase());

export const sameName = (a: string, b: string): boolean => lowerName(a) === lowerName(b);

/** Finds what stands under a name, whatever its case. */
export function byName<T>(entries: Iterable<readonly [string, T]>): (name: string) => T | undefined {
  const all = new Map([...entries].map(([name, value]) => [lowerName(name), value]));
  return (name) => all.get(lowerName(name));
}

/** Throws `CalculationError` for two names that differ at most in case, which are one to DuckDB. */
export function refuseTwins(names: Iterable<string>, where = ""): void {
  const seen = new Map<string, string>();
  for (const name of names) {
    const before = seen.get(lowerName(name));
    if (before !== undefined) {
      const both = `columns ${JSON.stringify(before)} and ${JSON.stringify(name)}`;
      throw new CalculationError(
        "twin-columns",
        `${where}${both} are one name in SQL, as case does not count`,
      );
    }
    seen.set(lowerName(name), name);
  }
}

/** Whether DuckDB may have renamed the second of such twins: `Id_1` beside `id`. */
export const hasRenamed = (names: readonly string[]): boolean =>
  names.some((name) => {
    const base = /^(.*)_\d+$/s.exec(name)?.[1];
    return base !== undefined && names.some((one) => sameName(one, base));
  });
