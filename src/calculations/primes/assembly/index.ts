/**
 * The hot loops of the prime sieve. Memory is laid out and filled by ../sieveMemory.ts; all addresses come from
 * ../sieveKernel.ts, and nothing is allocated here.
 */
export { countZeros, moveStrokes, locateTurns, preSieve, rewind } from "./blocks";
export { crossSparse, locateSparse } from "./crossSparse";
export { crossTurns8, crossTurns48 } from "./crossTurns";
