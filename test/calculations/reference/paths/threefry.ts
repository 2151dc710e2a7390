/**
 * Threefry-4x32 of 20 rounds: a counter-based generator, so that any word of any stream is made without those
 * before it. J. Salmon, M. Moraes, R. Dror, D. Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC11,
 * section 4.1. It only adds, rotates and XORs 32-bit words, which JavaScript does as fast as it gets; Philox
 * multiplies.
 *
 * Fills `words` with `blocks` blocks of four words: block i is that of the counter whose first word is i
 * greater.
 */
export function threefry4x32(
  words: Int32Array,
  blocks: number,
  key: readonly [number, number, number, number],
  counter: readonly [number, number, number, number],
): void {
  const [k0, k1, k2, k3] = [key[0] | 0, key[1] | 0, key[2] | 0, key[3] | 0];
  const k4 = parity ^ k0 ^ k1 ^ k2 ^ k3;
  // What the first words of the counter become when the key is first added to it.
  const first = (counter[0] + k0) | 0;
  const [second, third, fourth] = [(counter[1] + k1) | 0, (counter[2] + k2) | 0, (counter[3] + k3) | 0];
  for (let block = 0; block < blocks; block++) {
    let x0 = (first + block) | 0;
    let x1 = second;
    let x2 = third;
    let x3 = fourth;
    x0 = (x0 + x1) | 0;
    x1 = ((x1 << 10) | (x1 >>> 22)) ^ x0;
    x2 = (x2 + x3) | 0;
    x3 = ((x3 << 26) | (x3 >>> 6)) ^ x2;
    x0 = (x0 + x3) | 0;
    x3 = ((x3 << 11) | (x3 >>> 21)) ^ x0;
    x2 = (x2 + x1) | 0;
    x1 = ((x1 << 21) | (x1 >>> 11)) ^ x2;
    x0 = (x0 + x1) | 0;
    x1 = ((x1 << 13) | (x1 >>> 19)) ^ x0;
    x2 = (x2 + x3) | 0;
    x3 = ((x3 << 27) | (x3 >>> 5)) ^ x2;
    x0 = (x0 + x3) | 0;
    x3 = ((x3 << 23) | (x3 >>> 9)) ^ x0;
    x2 = (x2 + x1) | 0;
    x1 = ((x1 << 5) | (x1 >>> 27)) ^ x2;
    x0 = (x0 + k1) | 0;
    x1 = (x1 + k2) | 0;
    x2 = (x2 + k3) | 0;
    x3 = (x3 + k4 + 1) | 0;
    x0 = (x0 + x1) | 0;
    x1 = ((x1 << 6) | (x1 >>> 26)) ^ x0;
    x2 = (x2 + x3) | 0;
    x3 = ((x3 << 20) | (x3 >>> 12)) ^ x2;
    x0 = (x0 + x3) | 0;
    x3 = ((x3 << 17) | (x3 >>> 15)) ^ x0;
    x2 = (x2 + x1) | 0;
    x1 = ((x1 << 11) | (x1 >>> 21)) ^ x2;
    x0 = (x0 + x1) | 0;
    x1 = ((x1 << 25) | (x1 >>> 7)) ^ x0;
    x2 = (x2 + x3) | 0;
    x3 = ((x3 << 10) | (x3 >>> 22)) ^ x2;
    x0 = (x0 + x3) | 0;
    x3 = ((x3 << 18) | (x3 >>> 14)) ^ x0;
    x2 = (x2 + x1) | 0;
    x1 = ((x1 << 20) | (x1 >>> 12)) ^ x2;
    x0 = (x0 + k2) | 0;
    x1 = (x1 + k3) | 0;
    x2 = (x2 + k4) | 0;
    x3 = (x3 + k0 + 2) | 0;
    x0 = (x0 + x1) | 0;
    x1 = ((x1 << 10) | (x1 >>> 22)) ^ x0;
    x2 = (x2 + x3) | 0;
    x3 = ((x3 << 26) | (x3 >>> 6)) ^ x2;
    x0 = (x0 + x3) | 0;
    x3 = ((x3 << 11) | (x3 >>> 21)) ^ x0;
    x2 = (x2 + x1) | 0;
    x1 = ((x1 << 21) | (x1 >>> 11)) ^ x2;
    x0 = (x0 + x1) | 0;
    x1 = ((x1 << 13) | (x1 >>> 19)) ^ x0;
    x2 = (x2 + x3) | 0;
    x3 = ((x3 << 27) | (x3 >>> 5)) ^ x2;
    x0 = (x0 + x3) | 0;
    x3 = ((x3 << 23) | (x3 >>> 9)) ^ x0;
    x2 = (x2 + x1) | 0;
    x1 = ((x1 << 5) | (x1 >>> 27)) ^ x2;
    x0 = (x0 + k3) | 0;
    x1 = (x1 + k4) | 0;
    x2 = (x2 + k0) | 0;
    x3 = (x3 + k1 + 3) | 0;
    x0 = (x0 + x1) | 0;
    x1 = ((x1 << 6) | (x1 >>> 26)) ^ x0;
    x2 = (x2 + x3) | 0;
    x3 = ((x3 << 20) | (x3 >>> 12)) ^ x2;
    x0 = (x0 + x3) | 0;
    x3 = ((x3 << 17) | (x3 >>> 15)) ^ x0;
    x2 = (x2 + x1) | 0;
    x1 = ((x1 << 11) | (x1 >>> 21)) ^ x2;
    x0 = (x0 + x1) | 0;
    x1 = ((x1 << 25) | (x1 >>> 7)) ^ x0;
    x2 = (x2 + x3) | 0;
    x3 = ((x3 << 10) | (x3 >>> 22)) ^ x2;
    x0 = (x0 + x3) | 0;
    x3 = ((x3 << 18) | (x3 >>> 14)) ^ x0;
    x2 = (x2 + x1) | 0;
    x1 = ((x1 << 20) | (x1 >>> 12)) ^ x2;
    x0 = (x0 + k4) | 0;
    x1 = (x1 + k0) | 0;
    x2 = (x2 + k1) | 0;
    x3 = (x3 + k2 + 4) | 0;
    x0 = (x0 + x1) | 0;
    x1 = ((x1 << 10) | (x1 >>> 22)) ^ x0;
    x2 = (x2 + x3) | 0;
    x3 = ((x3 << 26) | (x3 >>> 6)) ^ x2;
    x0 = (x0 + x3) | 0;
    x3 = ((x3 << 11) | (x3 >>> 21)) ^ x0;
    x2 = (x2 + x1) | 0;
    x1 = ((x1 << 21) | (x1 >>> 11)) ^ x2;
    x0 = (x0 + x1) | 0;
    x1 = ((x1 << 13) | (x1 >>> 19)) ^ x0;
    x2 = (x2 + x3) | 0;
    x3 = ((x3 << 27) | (x3 >>> 5)) ^ x2;
    x0 = (x0 + x3) | 0;
    x3 = ((x3 << 23) | (x3 >>> 9)) ^ x0;
    x2 = (x2 + x1) | 0;
    x1 = ((x1 << 5) | (x1 >>> 27)) ^ x2;
    x0 = (x0 + k0) | 0;
    x1 = (x1 + k1) | 0;
    x2 = (x2 + k2) | 0;
    x3 = (x3 + k3 + 5) | 0;
    words[4 * block] = x0;
    words[4 * block + 1] = x1;
    words[4 * block + 2] = x2;
    words[4 * block + 3] = x3;
  }
}

/** Keeps the key schedule from being all zeros. */
const parity = 0x1bd11bda;
