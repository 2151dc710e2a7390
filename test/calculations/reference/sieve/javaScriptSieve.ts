import { countUpTo, numbersPerByte } from "../../../../src/calculations/primes/basePrimes.ts";
import type { SieveKernel } from "../../../../src/calculations/primes/sieveKernel.ts";
import { countZeros } from "./countZeros.ts";
import { crossSparse } from "./crossSparse.ts";
import { crossTurns } from "./crossTurns.ts";
import { preSieve, preSievedMax } from "./preSieve.ts";
import { blockBytes, marginBytes, type Scratch, scratchFor, smallMax, subBlockBytes } from "./scratch.ts";
import { carries, turnBytes } from "./wheel.ts";

/**
 * The sieve in JavaScript: an independent reference that tests compare the WebAssembly kernel of `primes` with. It
 * takes twice the time.
 */
export function javaScriptSieve(): SieveKernel {
  let scratch: Scratch;
  let runs: readonly Runs[] = [];
  return {
    preSievedMax,
    begin(start, root) {
      scratch = scratchFor(root);
      runs = placeBasePrimes(scratch, start, root);
      return blockBytes;
    },
    sieve(at, bytes) {
      sieveBlock(scratch, runs, at, bytes);
      return scratch.bytes.subarray(marginBytes, marginBytes + bytes);
    },
    count(bytes) {
      // Counted by eight words; the padding is struck out so that it counts nothing.
      const padded = marginBytes + ((bytes + 31) & ~31);
      scratch.bytes.fill(0xff, marginBytes + bytes, padded);
      return countZeros(scratch.words, marginBytes >> 2, padded >> 2);
    },
  };
}

/** How many primes of a class are crossed in sub-blocks, in whole turns, and at all. */
interface Runs {
  readonly small: number;
  readonly dense: number;
  readonly all: number;
}

/** Finds for every base prime its place in the block that begins at byte `start`. */
function placeBasePrimes({ base, next, place }: Scratch, start: number, root: number): Runs[] {
  return base.classes.map((primes, c) => {
    const all = countUpTo(primes, root);
    const dense = Math.min(all, countUpTo(primes, marginBytes));
    const at = next[c] as Int32Array;
    const places = place[c] as Uint8Array;
    const carry = carries[c] as readonly number[];
    for (let i = 0; i < all; i++) {
      const p = primes[i] as number;
      const a = (p / numbersPerByte) | 0;
      // The turn that is under way where the block begins: turns begin p bytes apart, the first one at byte a.
      let k = Math.floor((start - a) / p) * p + a - start;
      if (i >= dense) {
        const turn = k;
        let w = 0;
        while (k < 0) {
          w++;
          k = w === 8 ? turn + p : turn + (turnBytes[w] as number) * a + (carry[w] as number);
        }
        places[i] = w & 7;
      }
      at[i] = k + marginBytes;
    }
    return { small: Math.min(all, countUpTo(primes, smallMax)), dense, all };
  });
}

function sieveBlock(scratch: Scratch, runs: readonly Runs[], at: number, bytes: number): void {
  const { view, words, base, next, place } = scratch;
  const limit = marginBytes + bytes;
  preSieve(words, marginBytes >> 2, (bytes + 3) >> 2, at / 4);
  for (let sub = marginBytes; sub < limit; sub += subBlockBytes) {
    const end = Math.min(limit, sub + subBlockBytes);
    for (let c = 0; c < 8; c++) {
      crossTurns[c]?.(
        view,
        base.classes[c] as Int32Array,
        next[c] as Int32Array,
        0,
        runs[c]?.small ?? 0,
        end,
      );
    }
  }
  for (let c = 0; c < 8; c++) {
    const { small, dense, all } = runs[c] as Runs;
    const primes = base.classes[c] as Int32Array;
    const at = next[c] as Int32Array;
    crossTurns[c]?.(view, primes, at, small, dense, limit);
    const sparse = { residueClass: c, first: dense, last: all, end: limit };
    crossSparse(view, primes, at, place[c] as Uint8Array, sparse);
    // On to the next block. A turn that reached into the right margin is crossed there once more, from the left.
    for (let i = 0; i < dense; i++) at[i] = (at[i] as number) - bytes - (primes[i] as number);
    for (let i = dense; i < all; i++) at[i] = (at[i] as number) - bytes;
  }
}
