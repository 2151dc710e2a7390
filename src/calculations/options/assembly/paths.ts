import { exp, farExp, farFrom } from "./elementary";
import { both, bounds, columnAt, hits, normals } from "./memory";

const one: usize = memory.data<f64>([1.0]);

/**
 * Makes the first `count` numbers of `normals` samples: fills the columns with what each contributes, and
 * `bounds` and `hits` with what these add up to. An antithetic sample takes the path of the opposite number too. A last pair is whole, its second half 0.
 */
export function addPaths(
  count: usize,
  antithetic: bool,
  sign: f64,
  spot: f64,
  strike: f64,
  drift: f64,
  spread: f64,
  deviation: f64,
  volatilityTime: f64,
): void {
  // G of each path lies in a column until what is to be there takes its place.
  fillMeans(columnAt(0), count, spot, drift, spread);
  if (antithetic) fillMeans(columnAt(2), count, spot, drift, -spread);
  let hit = f64x2.splat(0);
  let sumHits = f64x2.splat(0);
  let sumHits2 = f64x2.splat(0);
  let maxPayoff = f64x2.splat(0);
  let maxScore = f64x2.splat(0);
  let maxTilt = f64x2.splat(0);
  for (let at: usize = 0; at < 8 * count; at += 16) {
    const y = v128.load(normals + at);
    const mean = v128.load(columnAt(0) + at);
    const gain = f64x2.mul(f64x2.splat(sign), f64x2.sub(mean, f64x2.splat(strike)));
    hit = inMoney(gain);
    let payoff = f64x2.mul(hit, gain);
    let score = f64x2.mul(hit, y);
    const slope = f64x2.mul(f64x2.splat(deviation), y);
    let tilt = f64x2.mul(f64x2.mul(hit, mean), f64x2.sub(slope, f64x2.splat(volatilityTime)));
    if (antithetic) {
      const mean = v128.load(columnAt(2) + at);
      const gain = f64x2.mul(f64x2.splat(sign), f64x2.sub(mean, f64x2.splat(strike)));
      const oppositeHit = inMoney(gain);
      payoff = f64x2.add(payoff, f64x2.mul(oppositeHit, gain));
      score = f64x2.sub(score, f64x2.mul(oppositeHit, y));
      const oppositeSlope = f64x2.sub(f64x2.neg(slope), f64x2.splat(volatilityTime));
      tilt = f64x2.add(tilt, f64x2.mul(f64x2.mul(oppositeHit, mean), oppositeSlope));
      hit = f64x2.add(hit, oppositeHit);
      v128.store(columnAt(2) + at, f64x2.mul(payoff, hit));
    }
    v128.store(columnAt(0) + at, payoff);
    v128.store(columnAt(1) + at, f64x2.mul(payoff, payoff));
    v128.store(columnAt(3) + at, score);
    v128.store(columnAt(4) + at, f64x2.mul(score, score));
    v128.store(columnAt(5) + at, tilt);
    v128.store(columnAt(6) + at, f64x2.mul(tilt, tilt));
    sumHits = f64x2.add(sumHits, hit);
    sumHits2 = f64x2.add(sumHits2, f64x2.mul(hit, hit));
    maxPayoff = f64x2.pmax(maxPayoff, payoff);
    maxScore = f64x2.pmax(maxScore, f64x2.abs(score));
    maxTilt = f64x2.pmax(maxTilt, f64x2.abs(tilt));
  }
  storeHits(sumHits, sumHits2);
  if (count & 1) {
    const extra = f64x2.extract_lane(hit, 1);
    store<f64>(hits, load<f64>(hits) - extra);
    store<f64>(hits, load<f64>(hits, 8) - extra * extra, 8);
    for (let k: usize = 0; k < 7; k++) store<f64>(columnAt(k) + 8 * count, 0);
  }
  storeBounds(0, upper(maxPayoff));
  // At most two paths.
  store<f64>(bounds, 2 * upper(maxPayoff), 16);
  storeBounds(3, upper(maxScore));
  storeBounds(5, upper(maxTilt));
}

/** spot · e^(drift + spread · y) of each y. Powers that may be far are checked only where there is one, which is rare. */
function fillMeans(to: usize, count: usize, spot: f64, drift: f64, spread: f64): void {
  const farthest = means(to, count, spot, drift, spread, false);
  if (farthest > farFrom) means(to, count, spot, drift, spread, true);
}

// @ts-ignore: decorator
@inline
function means(to: usize, count: usize, spot: f64, drift: f64, spread: f64, far: bool): f64 {
  let farthest = f64x2.splat(0);
  for (let at: usize = 0; at < 8 * count; at += 16) {
    const x = f64x2.add(f64x2.splat(drift), f64x2.mul(f64x2.splat(spread), v128.load(normals + at)));
    farthest = f64x2.pmax(farthest, f64x2.abs(x));
    v128.store(to + at, f64x2.mul(f64x2.splat(spot), far ? farExp(x) : exp(x)));
  }
  return upper(farthest);
}

/** 1 of a gain, else 0. */
// @ts-ignore: decorator
@inline
function inMoney(gain: v128): v128 {
  return v128.and(f64x2.gt(gain, f64x2.splat(0)), both(one));
}

function storeHits(sum: v128, sum2: v128): void {
  store<f64>(hits, f64x2.extract_lane(sum, 0) + f64x2.extract_lane(sum, 1));
  store<f64>(hits, f64x2.extract_lane(sum2, 0) + f64x2.extract_lane(sum2, 1), 8);
}

/** Of a column and of that of its squares. */
function storeBounds(k: usize, bound: f64): void {
  store<f64>(bounds + 8 * k, bound);
  store<f64>(bounds + 8 * k, bound * bound, 8);
}

function upper(pair: v128): f64 {
  return Math.max(f64x2.extract_lane(pair, 0), f64x2.extract_lane(pair, 1));
}
