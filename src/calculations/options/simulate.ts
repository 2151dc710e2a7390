import type { Contract, Law } from "./law.ts";
import { type Moments, noMoments } from "./moments.ts";
import { blockNormals, type PathKernel, type Stream } from "./pathKernel.ts";

/**
 * The moments of `samples` samples. Sample i takes normals i · n to (i + 1) · n - 1 of the stream, for n
 * fixings; an antithetic one goes its path with the negatives of these normals too.
 *
 * Its bits are the same on any machine and by any kernel: nothing but +, -, ·, /, √ and whole numbers makes
 * them.
 */
export function simulate(
  kernel: PathKernel,
  contract: Contract,
  law: Law,
  stream: Stream,
  { samples, antithetic }: { samples: number; antithetic: boolean },
): Moments {
  const moments = noMoments();
  const simulated = { contract, law, antithetic };
  const { normals } = kernel;
  const { fixings } = law;
  const weights = weightsOf(fixings);
  let fixing = 0;
  let y = 0;
  for (let done = 0; done < samples * fixings; done += blockNormals) {
    const count = Math.min(blockNormals, samples * fixings - done);
    kernel.fillNormals(stream, done, count);
    let ready = fixings === 1 ? count : 0;
    if (fixings > 1) {
      for (let i = 0; i < count; i++) {
        y += (weights[fixing] as number) * (normals[i] as number);
        if (++fixing < fixings) continue;
        // No slot is overwritten before it was read: a path has more normals than one.
        normals[ready++] = y;
        fixing = 0;
        y = 0;
      }
    }
    kernel.addSamples(moments, simulated, ready);
  }
  if (!antithetic) moments.sums.payoffHits.merge(moments.sums.payoff);
  return moments;
}

/**
 * Weights that give a standard normal y from the steps of the path: y = ΣW(t)/n divided by its standard
 * deviation.
 */
function weightsOf(fixings: number): Float64Array {
  const scale = 1 / Math.sqrt((fixings * (fixings + 1) * (2 * fixings + 1)) / 6);
  return Float64Array.from({ length: fixings }, (_, step) => (fixings - step) * scale);
}
