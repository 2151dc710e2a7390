import { CalculationError } from "../../engine/model/errors.ts";
import { type Dyadic, dyadicOf, exponentField, nearest, powerOfTwo, sumOf } from "./dyadic.ts";

/**
 * A sum of doubles without any rounding; its bits do not depend on the order or grouping of what was added.
 *
 * Infinities and NaN stay: infinities of both signs, or a NaN, make the sum NaN for good. A sum has no
 * negative zero.
 */
export interface ExactSum {
  add(x: number): void;
  merge(other: ExactSum): void;
  /** Correctly rounded: to the nearest double, ties to even; Infinity beyond the largest. */
  value(): number;
  /**
   * Canonical: equal sums give equal text, however they were reached. `-1f3p-40` is -0x1f3 · 2^-40, an empty sum
   * is `0p0`; or `Infinity`, `-Infinity`, `NaN`.
   */
  encode(): string;
}

/** An empty sum, or the one that was encoded. Throws `CalculationError` for any other text. */
export function exactSum(encoded?: string): ExactSum {
  const sum = new LimbSum();
  if (encoded !== undefined) sum.addEncoded(encoded);
  return sum;
}

/**
 * Limb j holds a multiple of 2^(16j - 1075) of at most 2^53 units, so that adding to it is exact. A double
 * with exponent field 16j to 16j + 15 is split at 32 bits above the unit of limb j, and adds less than 2^31
 * units to it and at most 2^36 to limb j + 2. After 2^16 additions the bits above 32 of each limb are carried.
 *
 * The idea of delayed carries is that of R. Neal, "Fast exact summation using small and large
 * superaccumulators", arXiv:1505.05571; here limbs are doubles, which JavaScript adds faster than 64-bit
 * integers.
 */
const limbBits = 16;
const splitBits = 32;
const addsMax = 2 ** 16;

/**
 * From this limb on, that is from 2^941, limbs could overflow. Doubles that would reach them are whole
 * numbers.
 */
const hugeLimb = 126;

/** Adding and subtracting 1.5 · 2^(52 + e) rounds a smaller number to a multiple of 2^e. */
const splitters = Float64Array.from(
  { length: hugeLimb },
  (_, j) => 1.5 * powerOfTwo(52 + limbBits * j + splitBits - 1075),
);

/** An encoded mantissa is added in pieces of this many bits. */
const pieceBits = 48;

/**
 * A class, because an aggregation holds one for each group, and five closures each would be most of its
 * memory.
 */
class LimbSum implements ExactSum {
  /** Limbs from `first` on; only those in use, in an array of doubles from the beginning. */
  #limbs: number[] = [0.5, 0.5, 0.5].fill(0);
  #first = -1;
  #adds = 0;
  #huge = 0n;
  /** The sum of the infinities and NaN among the terms. */
  #special = 0;

  add(x: number): void {
    if (x === 0) return;
    const j = exponentField(x) >>> 4;
    if (j >= hugeLimb) {
      if (Number.isFinite(x)) this.#huge += BigInt(x);
      else this.#special += x;
      return;
    }
    const splitter = splitters[j] as number;
    const upper = x + splitter - splitter;
    this.#reach(j);
    const limbs = this.#limbs;
    const at = j - this.#first;
    limbs[at] = (limbs[at] as number) + (x - upper);
    limbs[at + 2] = (limbs[at + 2] as number) + upper;
    if (++this.#adds === addsMax) this.#carry();
  }

  merge(other: ExactSum): void {
    const from = other as LimbSum;
    for (const limb of from.#limbs.slice()) this.add(limb);
    this.#huge += from.#huge;
    this.#special += from.#special;
  }

  value(): number {
    return this.#special === 0 ? nearest(this.#total()) : this.#special;
  }

  encode(): string {
    if (this.#special !== 0) return String(this.#special);
    const { mantissa, exponent } = this.#total();
    return `${mantissa.toString(16)}p${exponent}`;
  }

  addEncoded(text: string): void {
    const [, sign, digits, power] = /^(-?)([0-9a-f]+)p(-?\d{1,4})$/.exec(text) ?? [];
    if (digits === undefined || Number(power) < -1074) {
      if (!/^(NaN|-?Infinity)$/.test(text))
        throw new CalculationError("bad-sum", `${text} is not an encoded exact sum`);
      this.#special += Number(text);
      return;
    }
    let rest = BigInt(`0x${digits}`);
    for (let exponent = Number(power); rest !== 0n; exponent += pieceBits) {
      const piece = Number(BigInt.asUintN(pieceBits, rest));
      if (exponent > 0) {
        this.#huge += (sign === "" ? rest : -rest) << BigInt(exponent);
        return;
      }
      this.add((sign === "" ? piece : -piece) * powerOfTwo(exponent));
      rest >>= BigInt(pieceBits);
    }
  }

  #total(): Dyadic {
    return sumOf([{ mantissa: this.#huge, exponent: 0 }, ...this.#limbs.map(dyadicOf)]);
  }

  /** Makes room for limbs `j` to `j + 2`. */
  #reach(j: number): void {
    if (this.#first < 0) this.#first = j;
    for (; this.#first > j; this.#first--) this.#limbs.unshift(0);
    while (this.#limbs.length < j - this.#first + 3) this.#limbs.push(0);
  }

  #carry(): void {
    const limbs = this.#limbs;
    for (let at = 0; at < limbs.length; at++) {
      const limb = limbs[at] as number;
      const j = this.#first + at;
      if (j >= hugeLimb) {
        this.#huge += BigInt(limb);
        limbs[at] = 0;
        continue;
      }
      const splitter = splitters[j] as number;
      const upper = limb + splitter - splitter;
      if (upper === 0) continue;
      this.#reach(j);
      limbs[at] = limb - upper;
      limbs[at + 2] = (limbs[at + 2] as number) + upper;
    }
    this.#adds = 0;
  }
}
