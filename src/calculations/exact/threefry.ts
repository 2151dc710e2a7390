/** Four words of 32 bits. */
export type Words = readonly [number, number, number, number];

/** By how many bits the two words of a round are rotated; from the ninth round on again from the first. */
const rotations = [
  [10, 26],
  [11, 21],
  [13, 27],
  [23, 5],
  [6, 20],
  [17, 11],
  [25, 10],
  [18, 20],
] as const;

/**
 * The block of a counter by Threefry-4x32-20, a counter-based generator, so that any word of any stream is made without those
 * before it: J. Salmon, M. Moraes, R. Dror, D. Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC11, section 4.1. It only
 * adds, rotates and XORs words.
 */
export function threefry4x32(key: Words, counter: Words): Words {
  // The constant keeps the key schedule from being all zeros.
  const keys = [...key, 0x1bd11bda ^ key[0] ^ key[1] ^ key[2] ^ key[3]] as const;
  const keyOf = (word: number): number => keys[word % 5] as number;
  let [x0, x1, x2, x3] = counter.map((word, index) => (word + keyOf(index)) | 0) as [...Words];
  for (let round = 0; round < 20; round += 1) {
    const [a, b] = rotations[round % 8] as (typeof rotations)[number];
    const isEven = round % 2 === 0;
    x0 = (x0 + (isEven ? x1 : x3)) | 0;
    x2 = (x2 + (isEven ? x3 : x1)) | 0;
    x1 = isEven ? rotated(x1, a) ^ x0 : rotated(x1, b) ^ x2;
    x3 = isEven ? rotated(x3, b) ^ x2 : rotated(x3, a) ^ x0;
    if (round % 4 !== 3) continue;
    const group = (round + 1) / 4;
    x0 = (x0 + keyOf(group)) | 0;
    x1 = (x1 + keyOf(group + 1)) | 0;
    x2 = (x2 + keyOf(group + 2)) | 0;
    x3 = (x3 + keyOf(group + 3) + group) | 0;
  }
  return [x0, x1, x2, x3];
}

const rotated = (x: number, by: number): number => (x << by) | (x >>> (32 - by));
