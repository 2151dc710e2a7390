/** How much was done at one moment. */
export interface Sample {
  readonly atMs: number;
  readonly done: number;
}

const windowMs = 6_000;
const leastMs = 1_000;

/** Packs per second over the last seconds; undefined until that can be said. */
export function speedOf(samples: readonly Sample[], nowMs: number): number | undefined {
  const last = samples.at(-1);
  const first = samples.find(({ atMs }) => atMs >= nowMs - windowMs);
  if (last === undefined || first === undefined || last.atMs - first.atMs < leastMs) return undefined;
  return ((last.done - first.done) * 1_000) / (last.atMs - first.atMs);
}
