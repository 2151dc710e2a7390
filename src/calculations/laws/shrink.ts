/** Examples tried on the way to a smaller one: each runs user code. */
const triesMax = 300;

/**
 * The smallest failing example that greedy steps reach: of the candidates that `smaller` gives for an example, in its
 * order, the first that fails too takes its place, until none does. `example` must fail; so does what is returned.
 */
export async function shrink<Example>(
  example: Example,
  smaller: (example: Example) => Iterable<Example>,
  fails: (example: Example) => Promise<boolean>,
): Promise<Example> {
  let best = example;
  let tries = 0;
  for (let shrunk = true; shrunk; ) {
    shrunk = false;
    for (const candidate of smaller(best)) {
      tries += 1;
      if (tries > triesMax) return best;
      if (!(await fails(candidate))) continue;
      best = candidate;
      shrunk = true;
      break;
    }
  }
  return best;
}
