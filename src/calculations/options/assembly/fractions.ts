import { normals } from "./memory";

/**
 * Fills `normals` with `count` fractions q, -1/2 < q < 1/2, that are to become normals: of 52 bits each, at the middle
 * of their cells. The bits are those of Threefry-4x32-20, a counter-based generator, so that any word of any stream is
 * made without those before it: J. Salmon, M. Moraes, R. Dror, D. Shaw, "Parallel random numbers: as easy as 1, 2, 3",
 * SC11, section 4.1. It only adds, rotates and XORs 32-bit words. Four blocks are made at a time, one in each lane: word
 * j of all four is `xj`. A block gives two fractions. Whole groups of eight are written.
 */
export function fractions(
  count: usize,
  k0: i32,
  k1: i32,
  k2: i32,
  k3: i32,
  counter0: i32,
  counter1: i32,
  counter2: i32,
  counter3: i32,
): void {
  // The constant keeps the key schedule from being all zeros.
  const k4 = 0x1bd11bda ^ k0 ^ k1 ^ k2 ^ k3;
  let firsts = i32x4.add(i32x4.splat(counter0 + k0), i32x4(0, 1, 2, 3));
  for (let at = normals, end = normals + 8 * count; at < end; at += 64) {
    let x0 = firsts;
    let x1 = i32x4.splat(counter1 + k1);
    let x2 = i32x4.splat(counter2 + k2);
    let x3 = i32x4.splat(counter3 + k3);
    let a = k0;
    let b = k1;
    let c = k2;
    let d = k3;
    let e = k4;
    for (let group = 1; group <= 5; group++) {
      // Four rounds, written out: a function of this language returns one value, and a round has four.
      if (group & 1) {
        x0 = i32x4.add(x0, x1);
        x1 = v128.xor(rotated(x1, 10), x0);
        x2 = i32x4.add(x2, x3);
        x3 = v128.xor(rotated(x3, 26), x2);
        x0 = i32x4.add(x0, x3);
        x3 = v128.xor(rotated(x3, 11), x0);
        x2 = i32x4.add(x2, x1);
        x1 = v128.xor(rotated(x1, 21), x2);
        x0 = i32x4.add(x0, x1);
        x1 = v128.xor(rotated(x1, 13), x0);
        x2 = i32x4.add(x2, x3);
        x3 = v128.xor(rotated(x3, 27), x2);
        x0 = i32x4.add(x0, x3);
        x3 = v128.xor(rotated(x3, 23), x0);
        x2 = i32x4.add(x2, x1);
        x1 = v128.xor(rotated(x1, 5), x2);
      } else {
        x0 = i32x4.add(x0, x1);
        x1 = v128.xor(rotated(x1, 6), x0);
        x2 = i32x4.add(x2, x3);
        x3 = v128.xor(rotated(x3, 20), x2);
        x0 = i32x4.add(x0, x3);
        x3 = v128.xor(rotated(x3, 17), x0);
        x2 = i32x4.add(x2, x1);
        x1 = v128.xor(rotated(x1, 11), x2);
        x0 = i32x4.add(x0, x1);
        x1 = v128.xor(rotated(x1, 25), x0);
        x2 = i32x4.add(x2, x3);
        x3 = v128.xor(rotated(x3, 10), x2);
        x0 = i32x4.add(x0, x3);
        x3 = v128.xor(rotated(x3, 18), x0);
        x2 = i32x4.add(x2, x1);
        x1 = v128.xor(rotated(x1, 20), x2);
      }
      const first = a;
      a = b;
      b = c;
      c = d;
      d = e;
      e = first;
      x0 = i32x4.add(x0, i32x4.splat(a));
      x1 = i32x4.add(x1, i32x4.splat(b));
      x2 = i32x4.add(x2, i32x4.splat(c));
      x3 = i32x4.add(x3, i32x4.splat(d + group));
    }
    storeTwo(at, x0, x1, x2, x3);
    storeTwo(at + 32, upperHalf(x0), upperHalf(x1), upperHalf(x2), upperHalf(x3));
    firsts = i32x4.add(firsts, i32x4.splat(4));
  }
}

/** Four fractions, of the two blocks in the lower lanes. */
// @ts-ignore: decorator
@inline
function storeTwo(at: usize, x0: v128, x1: v128, x2: v128, x3: v128): void {
  const even = fractionsOf(x0, x1);
  const odd = fractionsOf(x2, x3);
  v128.store(at, v128.shuffle<f64>(even, odd, 0, 2));
  v128.store(at, v128.shuffle<f64>(even, odd, 1, 3), 16);
}

/** All of it is exact. */
// @ts-ignore: decorator
@inline
function fractionsOf(upper: v128, lower: v128): v128 {
  const fraction = f64x2.add(
    f64x2.mul(f64x2.convert_low_i32x4_s(i32x4.shr_u(lower, 12)), f64x2.splat(1.0 / 1048576.0)),
    f64x2.splat(0.5 / 1048576.0),
  );
  return f64x2.mul(f64x2.add(f64x2.convert_low_i32x4_s(upper), fraction), f64x2.splat(1.0 / 4294967296.0));
}

// @ts-ignore: decorator
@inline
function upperHalf(x: v128): v128 {
  return v128.shuffle<i32>(x, x, 2, 3, 2, 3);
}

// @ts-ignore: decorator
@inline
function rotated(x: v128, by: i32): v128 {
  return v128.or(i32x4.shl(x, by), i32x4.shr_u(x, 32 - by));
}
