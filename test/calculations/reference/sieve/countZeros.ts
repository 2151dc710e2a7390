/**
 * Zero bits in `words[first .. last)`; the length must be a multiple of eight. Seven carry-save additions turn
 * eight words into one of weight eight, so that only one word of eight needs its bits counted.
 */
export function countZeros(words: Int32Array, first: number, last: number): number {
  let eights = 0;
  let ones = 0;
  let twos = 0;
  let fours = 0;
  for (let i = first; i < last; i += 8) {
    const a = words[i] as number;
    const b = words[i + 1] as number;
    const c = words[i + 2] as number;
    const d = words[i + 3] as number;
    const e = words[i + 4] as number;
    const f = words[i + 5] as number;
    const g = words[i + 6] as number;
    const h = words[i + 7] as number;
    let u = ones ^ a;
    const twosA = (ones & a) | (u & b);
    ones = u ^ b;
    u = ones ^ c;
    const twosB = (ones & c) | (u & d);
    ones = u ^ d;
    u = twos ^ twosA;
    const foursA = (twos & twosA) | (u & twosB);
    twos = u ^ twosB;
    u = ones ^ e;
    const twosC = (ones & e) | (u & f);
    ones = u ^ f;
    u = ones ^ g;
    const twosD = (ones & g) | (u & h);
    ones = u ^ h;
    u = twos ^ twosC;
    const foursB = (twos & twosC) | (u & twosD);
    twos = u ^ twosD;
    u = fours ^ foursA;
    eights += bitsOf((fours & foursA) | (u & foursB));
    fours = u ^ foursB;
  }
  const set = 8 * eights + 4 * bitsOf(fours) + 2 * bitsOf(twos) + bitsOf(ones);
  return 32 * (last - first) - set;
}

function bitsOf(word: number): number {
  let x = word - ((word >>> 1) & 0x55555555);
  x = (x & 0x33333333) + ((x >>> 2) & 0x33333333);
  x = (x + (x >>> 4)) & 0x0f0f0f0f;
  return Math.imul(x, 0x01010101) >>> 24;
}
