const shownMax = 3;

/**
 * ` (did you mean primes?)` for a name that is a slip of at most two letters away from some of `names`, or begins one of them.
 * Empty where none is near.
 */
export function didYouMean(asked: string, names: readonly string[]): string {
  // A request of a megabyte may be one name.
  if (asked.length > 80) return "";
  const slips = asked.length < 5 ? 1 : 2;
  const distances = names.map((name) => ({ name, steps: stepsBetween(asked, name) }));
  const near = distances
    .filter(({ name, steps }) => steps <= slips || (asked.length > 2 && name.startsWith(asked)))
    .sort((a, b) => a.steps - b.steps)
    .map(({ name }) => name);
  return near.length === 0 ? "" : ` (did you mean ${near.slice(0, shownMax).join(" or ")}?)`;
}

/** Letters that were inserted, left out, replaced, or swapped with the next one. */
function stepsBetween(from: string, to: string): number {
  let [before, last] = [[] as number[], Array.from({ length: to.length + 1 }, (_, at) => at)];
  for (let i = 1; i <= from.length; i += 1) {
    const now = [i];
    for (let j = 1; j <= to.length; j += 1) {
      const same = from[i - 1] === to[j - 1];
      const [left = 0, above = 0, corner = 0] = [now[j - 1], last[j], last[j - 1]];
      let steps = Math.min(left + 1, above + 1, corner + (same ? 0 : 1));
      const swapped = i > 1 && j > 1 && from[i - 1] === to[j - 2] && from[i - 2] === to[j - 1];
      if (swapped) steps = Math.min(steps, (before[j - 2] ?? 0) + 1);
      now.push(steps);
    }
    [before, last] = [last, now];
  }
  return last[to.length] ?? 0;
}
