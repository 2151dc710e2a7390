/**
 * The wheel of 30. Every prime above 5 leaves one of eight remainders when divided by 30, so one byte with one
 * bit for each remainder stands for 30 numbers. Byte b, bit i is the number 30 b + residues[i].
 */
export const residues = [1, 7, 11, 13, 17, 19, 23, 29] as const;

export const numbersPerByte = 30;

/** The bit of a remainder as a mask; 0 for numbers that 2, 3 or 5 divide. */
export const bitOfResidue: readonly number[] = Array.from({ length: numbersPerByte }, (_, residue) => {
  const bit = (residues as readonly number[]).indexOf(residue);
  return bit < 0 ? 0 : 1 << bit;
});

/** Which of the eight classes a number coprime to 30 is in. */
export const classOf = (n: number): number => (residues as readonly number[]).indexOf(n % numbersPerByte);

/**
 * Multiples p·q, with q running over the numbers coprime to 30, come in turns of eight: q = 30 t + residues[i].
 * A turn is exactly p bytes long. For p = 30 a + r, multiple i lies turnBytes[i] · a + carries[class of r][i]
 * bytes after the first one of its turn, in the bit masks[class of r][i].
 */
export const turnBytes: readonly number[] = residues.map((w) => w - 1);
export const carries: readonly (readonly number[])[] = residues.map((r) =>
  residues.map((w) => Math.floor((r * w) / numbersPerByte)),
);
export const masks: readonly (readonly number[])[] = residues.map((r) =>
  residues.map((w) => bitOfResidue[(r * w) % numbersPerByte] as number),
);
