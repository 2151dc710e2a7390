import { residues } from "../../../../src/calculations/primes/basePrimes.ts";
import { carries, masks, turnBytes } from "./wheel.ts";

/**
 * Crosses out multiples of primes so long that few of their turns fit into a block. Unlike `crossTurns` it enters
 * and leaves a turn in its middle and writes nothing at or after `end`. One function for all classes: here the
 * memory is slower than the code.
 *
 * `next[i]` is the next multiple of `primes[i]`, `place[i]` its place in the turn, 0 to 7.
 */
export function crossSparse(
  s: DataView,
  primes: Int32Array,
  next: Int32Array,
  place: Uint8Array,
  range: { residueClass: number; first: number; last: number; end: number },
): void {
  const { residueClass, first, last, end } = range;
  const mask = maskTable[residueClass] as Int32Array;
  const carry = carryTable[residueClass] as Int32Array;
  const [m0, m1, m2, m3, m4, m5, m6, m7] = masks[residueClass] as Eight;
  const [, c1, c2, c3, c4, c5, c6, c7] = carries[residueClass] as Eight;
  const [, t1, t2, t3, t4, t5, t6, t7] = turnBytes as Eight;
  for (let i = first; i < last; i++) {
    let k = next[i] as number;
    if (k >= end) continue;
    const p = primes[i] as number;
    const a = (p / 30) | 0;
    let w = place[i] as number;
    for (; w !== 0 && k < end; w = (w + 1) & 7) {
      s.setUint8(k, s.getUint8(k) | (mask[w] as number));
      k = (k + Math.imul(a, steps[w] as number) + (carry[w] as number)) | 0;
    }
    const o7 = t7 * a + c7;
    if (w === 0 && k + o7 < end) {
      const o1 = t1 * a + c1;
      const o2 = t2 * a + c2;
      const o3 = t3 * a + c3;
      const o4 = t4 * a + c4;
      const o5 = t5 * a + c5;
      const o6 = t6 * a + c6;
      for (const stop = end - o7; k < stop; k = (k + p) | 0) {
        s.setUint8(k, s.getUint8(k) | m0);
        s.setUint8((k + o1) | 0, s.getUint8((k + o1) | 0) | m1);
        s.setUint8((k + o2) | 0, s.getUint8((k + o2) | 0) | m2);
        s.setUint8((k + o3) | 0, s.getUint8((k + o3) | 0) | m3);
        s.setUint8((k + o4) | 0, s.getUint8((k + o4) | 0) | m4);
        s.setUint8((k + o5) | 0, s.getUint8((k + o5) | 0) | m5);
        s.setUint8((k + o6) | 0, s.getUint8((k + o6) | 0) | m6);
        s.setUint8((k + o7) | 0, s.getUint8((k + o7) | 0) | m7);
      }
    }
    for (; k < end; w = (w + 1) & 7) {
      s.setUint8(k, s.getUint8(k) | (mask[w] as number));
      k = (k + Math.imul(a, steps[w] as number) + (carry[w] as number)) | 0;
    }
    next[i] = k;
    place[i] = w;
  }
}

type Eight = [number, number, number, number, number, number, number, number];

/** From each place of a turn to the following one, the last one's being the first of the next turn. */
const stepsOf = (places: readonly number[], turn: number): Int32Array =>
  Int32Array.from(places, (at, i) => (places[i + 1] ?? turn + (places[0] as number)) - at);

/** `steps[w] · a + carryTable[class][w]` bytes lie between place w and the following one. */
const steps = stepsOf(turnBytes, 30);
const carryTable = carries.map((row, c) => stepsOf(row, residues[c] as number));
const maskTable = masks.map((row) => Int32Array.from(row));
