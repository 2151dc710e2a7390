import { describe, expect, test } from "vitest";
import { bitOfResidue, residues } from "../../../../src/calculations/primes/basePrimes.ts";
import { countZeros } from "./countZeros.ts";
import { crossTurns } from "./crossTurns.ts";
import { preSieve } from "./preSieve.ts";
import { carries, masks, turnBytes } from "./wheel.ts";

describe("the parts of the reference sieve", () => {
  test.each(residues.map((residue, place) => ({ residue, place })))(
    "the written-out crossings of class $residue are those of the wheel's tables",
    ({ residue, place }) => {
      const p = 90 + residue;
      const sieve = new DataView(new ArrayBuffer(4 * p));
      const expected = new Uint8Array(4 * p);
      for (let turn = 0; turn < 2; turn++) {
        for (let w = 0; w < 8; w++) {
          const at = turn * p + 3 * (turnBytes[w] as number) + (carries[place]?.[w] as number);
          expected[at] = (expected[at] as number) | (masks[place]?.[w] as number);
        }
      }
      const next = Int32Array.of(0);
      crossTurns[place]?.(sieve, Int32Array.of(p), next, 0, 1, 2 * p);
      expect(new Uint8Array(sieve.buffer)).toEqual(expected);
      expect(next[0]).toBe(2 * p);
    },
  );

  test("pre-sieving strikes out exactly the odd multiples of 7 to 61, wherever it begins", () => {
    const small = [7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61];
    for (const position of [0, 1, 17_016, 12_672, 123_456_789]) {
      const words = new Int32Array(600);
      preSieve(words, 0, words.length, position);
      const bytes = new Uint8Array(words.buffer);
      for (let at = 0; at < bytes.length; at++) {
        for (const residue of residues) {
          const n = (position * 4 + at) * 30 + residue;
          const struck = ((bytes[at] as number) & (bitOfResidue[residue] as number)) !== 0;
          if (struck !== small.some((p) => n % p === 0)) expect.fail(`${n} at byte ${at} of ${position}`);
        }
      }
    }
  });

  test("countZeros agrees with counting one by one", () => {
    const words = Int32Array.from({ length: 64 }, (_, i) => Math.imul(i + 1, 0x9e3779b1) ^ (i << 7));
    const zeros = [...words.subarray(8, 56)].reduce(countByHand, 0);
    expect(countZeros(words, 8, 56)).toBe(zeros);
    expect(countZeros(new Int32Array(16), 0, 16)).toBe(512);
    expect(countZeros(new Int32Array(16).fill(-1), 0, 16)).toBe(0);
  });
});

const countByHand = (sum: number, word: number): number =>
  sum + 32 - [...(word >>> 0).toString(2)].filter((bit) => bit === "1").length;
