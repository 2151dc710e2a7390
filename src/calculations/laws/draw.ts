/** Numbers in [0, 1) that a seed repeats (mulberry32, Tommy Ettinger, public domain). */
export type Draw = () => number;

export function drawFrom(seed: number): Draw {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** A whole number in `[from, to)`, which must not be empty. */
export const wholeBetween = (draw: Draw, from: number, to: number): number =>
  from + Math.floor(draw() * (to - from));

/** Limit of the examples tried while shrinking: each runs user code. */
const triesMax = 300;

/**
 * Shrinks a failing example by greedy steps: the first of its `smaller` candidates that fails too takes its place,
 * until none does.
 */
export async function shrink<Example>(
  example: Example,
  smaller: (example: Example) => Iterable<Example>,
  fails: (example: Example) => Promise<boolean>,
): Promise<Example> {
  let best = example;
  let tries = 0;
  next: for (;;) {
    for (const candidate of smaller(best)) {
      tries += 1;
      if (tries > triesMax) return best;
      if (!(await fails(candidate))) continue;
      best = candidate;
      continue next;
    }
    return best;
  }
}
