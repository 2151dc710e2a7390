import { bitOfResidue, numbersPerByte, residues } from "../../../../src/calculations/primes/basePrimes.ts";

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
