/** DuckDB compares names by the case of ASCII letters alone. */
export const lowerName = (name: string): string => name.replace(/[A-Z]/g, (letter) => letter.toLowerCase());

export const sameName = (a: string, b: string): boolean => lowerName(a) === lowerName(b);

/** Finds what stands under a name, whatever its case. */
export function byName<T>(entries: Iterable<readonly [string, T]>): (name: string) => T | undefined {
  const all = new Map([...entries].map(([name, value]) => [lowerName(name), value]));
  return (name) => all.get(lowerName(name));
}
