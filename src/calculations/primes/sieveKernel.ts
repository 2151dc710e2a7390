/**
 * The hot part of the sieve: strikes composites out of one block of numbers after the other, one byte for 30
 * numbers as in `wheel.ts`. There are two, which a test compares: `javaScriptKernel.ts` runs everywhere,
 * `webAssemblyKernel.ts` takes half the time.
 */
export interface SieveKernel {
  readonly name: "JavaScript" | "WebAssembly";
  /** Multiples of the primes up to this one are struck out whatever the root. */
  readonly preSievedMax: number;
  /**
   * Makes ready for blocks from byte `start` on, a multiple of 4, in which multiples of the primes up to `root` are
   * struck out. Gives the length of a block in bytes.
   */
  begin(start: number, root: number): number;
  /**
   * Sieves the next block, `bytes` long at byte `at`: a whole one, or the last one. Gives its bytes, in which the
   * primes up to `root` are struck out as well; they are good until the next call.
   */
  sieve(at: number, bytes: number): Uint8Array;
  /** How many numbers of the block, `bytes` long, are not struck out. */
  count(bytes: number): number;
}
