import { cubic, ln } from "./elementary";
import { both, normals } from "./memory";

/**
 * Quantiles of the standard normal distribution by algorithm AS 241, PPND16: M. Wichura, "The percentage points of the
 * normal distribution", Applied Statistics 37 (1988), 477–484; to about 16 digits. Its rational functions follow: from
 * index 0 the numerator's coefficients, from 8 on the denominator's.
 * `middle` is of 0.180625 - q², `near` of r - 1.6, `far` of r - 5.
 */
const middle: usize = memory.data<f64>([
  3.3871328727963665, 133.14166789178438, 1971.5909503065513, 13731.69376550946, 45921.95393154987,
  67265.7709270087, 33430.57558358813, 2509.0809287301227, 1.0, 42.31333070160091, 687.1870074920579,
  5394.196021424751, 21213.794301586597, 39307.89580009271, 28729.085735721943, 5226.495278852854,
]);
const near: usize = memory.data<f64>([
  1.4234371107496835, 4.630337846156546, 5.769497221460691, 3.6478483247632045, 1.2704582524523684,
  0.2417807251774506, 0.022723844989269184, 0.0007745450142783414, 1.0, 2.053191626637759, 1.6763848301838038,
  0.6897673349851, 0.14810397642748008, 0.015198666563616457, 0.0005475938084995345, 1.0507500716444169e-9,
]);
const far: usize = memory.data<f64>([
  6.657904643501103, 5.463784911164114, 1.7848265399172913, 0.29656057182850487, 0.026532189526576124,
  0.0012426609473880784, 2.7115555687434876e-5, 2.0103343992922881e-7, 1.0, 0.599832206555888,
  0.1369298809227358, 0.014875361290850615, 0.0007868691311456133, 1.8463183175100548e-5,
  1.421511758316446e-7, 2.0442631033899397e-15,
]);

const middleMax: usize = memory.data<f64>([0.425]);
const middleMax2: usize = memory.data<f64>([0.180625]);
const half: usize = memory.data<f64>([0.5]);
const nearCentre: usize = memory.data<f64>([1.6]);
const farFrom: usize = memory.data<f64>([5.0]);
const signBit: usize = memory.data<f64>([-0.0]);

/** One for each number of a block, and one that completes a last pair. */
const tails: usize = memory.data(8 * 1024 + 16, 16);
const tailRoots: usize = memory.data(8 * 1024 + 16, 16);
const tailAddresses: usize = memory.data(4 * 1024 + 16, 16);

/**
 * Replaces each of the first `count` numbers q of `normals` by the standard normal quantile of 1/2 + q: all as if they were in the middle, then those that are not. Short loops one after the
 * other, so that a processor has several turns of each under way. A last pair is whole.
 */
export function quantiles(count: usize): void {
  const end = normals + 8 * count;
  const found = findTails(end);
  for (let at = normals; at < end; at += 16) {
    const q = v128.load(at);
    v128.store(at, f64x2.mul(q, ratio(middle, f64x2.sub(both(middleMax2), f64x2.mul(q, q)))));
  }
  for (let j: usize = 0; j < 8 * found; j += 16) {
    const rest = f64x2.sub(both(half), f64x2.abs(v128.load(tails + j)));
    v128.store(tailRoots + j, f64x2.sqrt(f64x2.neg(ln(rest))));
  }
  for (let j: usize = 0; j < found; j += 2) {
    const quantile = tailQuantile(v128.load(tails + 8 * j), v128.load(tailRoots + 8 * j));
    v128.store64_lane(load<u32>(tailAddresses + 4 * j), quantile, 0);
    v128.store64_lane(load<u32>(tailAddresses + 4 * j, 4), quantile, 1);
  }
}

/** The standard normal quantile of 1/2 + q, for -1/2 < q < 1/2. It overwrites the first of `normals`. */
export function quantile(q: f64): f64 {
  store<f64>(normals, q);
  quantiles(1);
  return load<f64>(normals);
}

/**
 * Without a branch, which a processor would guess wrongly for 15 % of the numbers. What completes a last pair goes
 * where nothing reads it.
 */
function findTails(end: usize): usize {
  let found: usize = 0;
  for (let at = normals; at < end; at += 16) {
    const q = v128.load(at);
    const which = i64x2.bitmask(f64x2.gt(f64x2.abs(q), both(middleMax)));
    v128.store64_lane(tails + 8 * found, q, 0);
    store<u32>(tailAddresses + 4 * found, at);
    found += which & 1;
    v128.store64_lane(tails + 8 * found, q, 1);
    store<u32>(tailAddresses + 4 * found, at + 8);
    found += which >> 1;
  }
  store<u32>(tailAddresses + 4 * found, normals + 8 * 1024);
  return found;
}

// @ts-ignore: decorator
@inline
function tailQuantile(q: v128, r: v128): v128 {
  let size = ratio(near, f64x2.sub(r, both(nearCentre)));
  const farther = f64x2.gt(r, both(farFrom));
  // Some three of 10^11.
  if (v128.any_true(farther)) {
    size = v128.bitselect(ratio(far, f64x2.sub(r, both(farFrom))), size, farther);
  }
  return v128.or(size, v128.and(q, both(signBit)));
}

// @ts-ignore: decorator
@inline
function ratio(table: usize, r: v128): v128 {
  const r2 = f64x2.mul(r, r);
  const r4 = f64x2.mul(r2, r2);
  return f64x2.div(septic(table, r, r2, r4), septic(table + 64, r, r2, r4));
}

// @ts-ignore: decorator
@inline
function septic(table: usize, r: v128, r2: v128, r4: v128): v128 {
  return f64x2.add(cubic(table, r, r2), f64x2.mul(r4, cubic(table + 32, r, r2)));
}
