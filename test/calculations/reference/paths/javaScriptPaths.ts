import type { ExactSum } from "../../../../src/calculations/exact/exactSum.ts";
import { blockNormals } from "../../../../src/calculations/options/kernel.ts";
import type { Moments } from "../../../../src/calculations/options/moments.ts";
import {
  type PathKernel,
  type Simulated,
  type Stream,
  wordsOf,
} from "../../../../src/calculations/options/simulate.ts";
import { exp } from "./elementary.ts";
import { quantilesFromMiddle } from "./quantiles.ts";
import { threefry4x32 } from "./threefry.ts";

/**
 * The simulation in JavaScript: an independent reference that tests compare the WebAssembly kernel of `options` with,
 * bit by bit. It takes more than twice the time.
 */
export const javaScriptPaths = (): PathKernel => ({
  normals,
  fillNormals,
  addSamples(moments, simulated, count) {
    for (const column of columns) column.fill(0, 0, count);
    addPaths(simulated, count, 1);
    if (simulated.antithetic) addPaths(simulated, count, -1);
    addSamples(moments, buffers, count, simulated.antithetic);
  },
});

// Not in a closure, so that the engine knows them as constants; a thread computes one thing at a time.
const words = new Int32Array(2 * blockNormals);
const normals = new Float64Array(blockNormals);
const column = (): Float64Array => new Float64Array(blockNormals);
const buffers = { payoff: column(), hits: column(), score: column(), tilt: column() };
const columns = Object.values(buffers);

function fillNormals(stream: Stream, from: number, count: number): void {
  const { key, counter } = wordsOf(stream, from);
  threefry4x32(words, Math.ceil(count / 2), key, counter);
  for (let i = 0; i < count; i++) {
    const fraction = ((words[2 * i + 1] as number) >>> 12) * 2 ** -20 + 2 ** -21;
    normals[i] = ((words[2 * i] as number) + fraction) * 2 ** -32;
  }
  quantilesFromMiddle(normals, count);
}

/** Adds to each of the first `count` samples the path that its normal makes, times `flip`. */
function addPaths({ contract, law }: Simulated, count: number, flip: 1 | -1): void {
  const { payoff, hits, score, tilt } = buffers;
  const { spot, strike, volatility } = contract;
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

/**
 * What a sample contributes, undiscounted; a sample is one path, or two opposite ones whose values are added.
 *
 * `payoff`; `hits`: how many of its paths end in the money; and what derivatives of the price need of the
 * paths that do: `score`, the standard normal y that made the path's mean G, and `tilt`, the derivative of ±G
 * by the volatility.
 */
interface Samples {
  readonly payoff: Float64Array;
  readonly hits: Float64Array;
  readonly score: Float64Array;
  readonly tilt: Float64Array;
}

/**
 * Adds the first `count` samples, at most `blockNormals`. The sum of payoff · hits, which of samples of one
 * path is that of the payoffs, is left out where `pairs` is false.
 */
function addSamples(moments: Moments, samples: Samples, count: number, pairs: boolean): void {
  const { payoff, hits, score, tilt } = samples;
  const { sums } = moments;
  let inMoney = 0;
  let inMoney2 = 0;
  for (let i = 0; i < count; i++) {
    const paths = hits[i] as number;
    inMoney += paths;
    inMoney2 += paths * paths;
  }
  moments.samples += count;
  moments.hits += inMoney;
  moments.hits2 += inMoney2;
  addEach(sums.payoff, payoff, count);
  addProducts(sums.payoff2, payoff, payoff, count);
  if (pairs) addProducts(sums.payoffHits, payoff, hits, count);
  addEach(sums.score, score, count);
  addProducts(sums.score2, score, score, count);
  addEach(sums.tilt, tilt, count);
  addProducts(sums.tilt2, tilt, tilt, count);
}

const products = new Float64Array(blockNormals);

function addProducts(sum: ExactSum, a: Float64Array, b: Float64Array, count: number): void {
  for (let i = 0; i < count; i++) products[i] = (a[i] as number) * (b[i] as number);
  addEach(sum, products, count);
}

/** One by one: `addAll` takes the kernel that is compared with this. */
function addEach(sum: ExactSum, values: Float64Array, count: number): void {
  for (let i = 0; i < count; i++) sum.add(values[i] as number);
}
