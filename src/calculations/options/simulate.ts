import { exp } from "./elementary.ts";
import type { Contract, Law } from "./law.ts";
import { addSamples, type Moments, noMoments, samplesMax } from "./moments.ts";
import { quantilesFromMiddle, quantilesMax } from "./normal.ts";
import { threefry4x32 } from "./threefry.ts";

/**
 * Which random numbers: normal `n` of chunk `chunk` under `seed` is always the same, whoever makes it and
 * when.
 */
export interface Stream {
  /** 0 to 2^53 - 1. */
  readonly seed: number;
  readonly chunk: number;
}

/**
 * The moments of `samples` samples. Sample i takes normals i · n to (i + 1) · n - 1 of the stream, for n
 * fixings; an antithetic one goes its path with the negatives of these normals too.
 *
 * Its bits are the same on any machine: nothing but +, -, ·, /, √ and whole numbers makes them.
 */
export function simulate(
  contract: Contract,
  law: Law,
  stream: Stream,
  { samples, antithetic }: { samples: number; antithetic: boolean },
): Moments {
  const moments = noMoments();
  const { fixings } = law;
  const weights = weightsOf(fixings);
  let fixing = 0;
  let y = 0;
  for (let done = 0; done < samples * fixings; done += blockNormals) {
    const count = Math.min(blockNormals, samples * fixings - done);
    fillNormals(stream, done, count);
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
    for (const column of columns) column.fill(0, 0, ready);
    addPaths(contract, law, ready, 1);
    if (antithetic) addPaths(contract, law, ready, -1);
    addSamples(moments, buffers, ready, antithetic);
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

const blockNormals = Math.min(quantilesMax, samplesMax);
const words = new Int32Array(2 * blockNormals);
const normals = new Float64Array(blockNormals);
const column = (): Float64Array => new Float64Array(samplesMax);
const buffers = { payoff: column(), hits: column(), score: column(), tilt: column() };
const columns = Object.values(buffers);

/**
 * Normals `from` to `from + count` of a stream; `from` is even. Each is made of 52 bits, at the middle of its
 * cell.
 */
function fillNormals({ seed, chunk }: Stream, from: number, count: number): void {
  threefry4x32(
    words,
    Math.ceil(count / 2),
    [seed, Math.floor(seed / 2 ** 32), 0, 0],
    [from / 2, chunk, 0, 0],
  );
  for (let i = 0; i < count; i++) {
    const fraction = ((words[2 * i + 1] as number) >>> 12) * 2 ** -20 + 2 ** -21;
    normals[i] = ((words[2 * i] as number) + fraction) * 2 ** -32;
  }
  quantilesFromMiddle(normals, count);
}

/** Adds to each of the first `count` samples the path that its normal makes, times `flip`. */
function addPaths({ spot, strike, volatility }: Contract, law: Law, count: number, flip: 1 | -1): void {
  const { payoff, hits, score, tilt } = buffers;
  const { sign, deviation, drift, spread } = law;
  const volatilityTime = volatility * law.meanTime;
  for (let i = 0; i < count; i++) {
    const y = flip * (normals[i] as number);
    const mean = spot * exp(drift + spread * y);
    const gain = sign * (mean - strike);
    // Without a branch, which a processor would guess wrongly half of the time.
    const inMoney = Number(gain > 0);
    payoff[i] = (payoff[i] as number) + inMoney * gain;
    hits[i] = (hits[i] as number) + inMoney;
    score[i] = (score[i] as number) + inMoney * y;
    tilt[i] = (tilt[i] as number) + inMoney * mean * (deviation * y - volatilityTime);
  }
}
