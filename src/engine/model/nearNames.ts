const shownMax = 3;

/**
 * ` (did you mean primes?)` for a name that is a slip of at most two letters away from some of `names`, or begins one of them.
 * Empty where none is near.
 */
export function didYouMean(asked: string, names: readonly string[]): string {
  // A request of a megabyte may be one name.
  if (asked.length > 80) return "";
  const slips = asked.length < 5 ? 1 : 2;
  const distances = names.map((name) => ({ name, steps: editDistance(asked, name) }));
  const near = distances
    .filter(({ name, steps }) => steps <= slips || (asked.length > 2 && name.startsWith(asked)))
    .sort((a, b) => a.steps - b.steps)
    .map(({ name }) => name);
  return near.length === 0 ? "" : ` (did you mean ${near.slice(0, shownMax).join(" or ")}?)`;
}

/** The known name with the fewest edits, case ignored; undefined if it needs more than a third of the letters. */
export function nearestName(name: string, known: readonly string[]): string | undefined {
  const [nearest] = known
    .map((one) => ({ one, distance: editDistance(name.toLowerCase(), one.toLowerCase()) }))
    .sort((a, b) => a.distance - b.distance);
  return nearest !== undefined && nearest.distance <= name.length / 3 ? nearest.one : undefined;
}

/** Letters to insert, delete or exchange, or neighbors to swap (optimal string alignment). */
function editDistance(a: string, b: string): number {
  let before: number[] = [];
  let row = Array.from({ length: b.length + 1 }, (_, at) => at);
  for (const [i, letter] of a.split("").entries()) {
    const next = [i + 1];
    for (let j = 1; j <= b.length; j += 1) {
      const exchange = (row[j - 1] ?? 0) + (letter === b[j - 1] ? 0 : 1);
      const isSwapped = i > 0 && j > 1 && letter === b[j - 2] && a[i - 1] === b[j - 1];
      const swap = isSwapped ? (before[j - 2] ?? 0) + 1 : exchange;
      next.push(Math.min(exchange, swap, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    [before, row] = [row, next];
  }
  return row[b.length] ?? 0;
}
