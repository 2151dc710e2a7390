import { exp } from "./elementary.ts";
import { addSamples } from "./moments.ts";
import { quantilesFromMiddle } from "./normal.ts";
import { blockNormals, type PathKernel, type Simulated, type Stream, wordsOf } from "./pathKernel.ts";
import { threefry4x32 } from "./threefry.ts";

/** The kernel that needs nothing but JavaScript. */
export const javaScriptKernel = (): PathKernel => ({
  name: "JavaScript",
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
