import type { KernelMemory } from "../loadKernel.ts";
import { type BasePrimes, oddPrimesUpTo, strikeOdd } from "./basePrimes.ts";

/** The layout of the memory of `assembly/`; addresses and lengths are in bytes. */

/**
 * Multiples of the primes up to this one are struck out by patterns: the strokes of a few of them together repeat after
 * as many bytes as their product, so they are drawn once and then copied.
 */
export const preSievedMax = 163;
/** Smallest with largest, so that the patterns are short. */
const pairs = [...oddPrimesUpTo(preSievedMax)].filter((p) => p > 29);
const groups = [
  [7, 11, 13, 17],
  [19, 23, 29],
  ...pairs.slice(0, pairs.length / 2).map((p, i) => [p, pairs.at(-1 - i) as number]),
];
/** `preSieve` takes so many patterns at a time. */
const groupsAtATime = 8;
/** `preSieve` checks for the end of a pattern only after so many bytes. */
const stretchBytes = 512;

/** Bytes sieved at a time; with the margins and the patterns they fit into a second-level cache of 1 MB. */
export const blockBytes = 512 * 1024;
/** Before and after the block, for turns that begin before it or end after it: the longest turn crossed whole. */
export const marginBytes = 128 * 1024;

const pageBytes = 64 * 1024;
const aligned = (bytes: number): number => Math.ceil(bytes / 64) * 64;

/** The first page is the module's own. */
const tableAt = pageBytes;
const patterns = groups.map((primes) => ({ primes, bytes: primes.reduce((product, p) => product * p, 1) }));
const patternsAt = tableAt + aligned(16 * patterns.length);
const patternsEnd = patterns.reduce((at, { bytes }) => at + aligned(bytes + stretchBytes), patternsAt);
/** The address of the block. */
export const origin = aligned(patternsEnd) + marginBytes;
const recordsAt = origin + blockBytes + marginBytes;

/** The tables of `preSieve`, one for each pass over the block. */
export const preSieveTables: readonly number[] = Array.from(
  { length: patterns.length / groupsAtATime },
  (_, pass) => tableAt + 16 * groupsAtATime * pass,
);

/** Draws the patterns and their table into fresh memory. */
export function writePatterns(memory: KernelMemory): void {
  grow(memory, recordsAt);
  const table = new Uint32Array(memory.buffer, tableAt);
  let at = patternsAt;
  for (const [i, { primes, bytes }] of patterns.entries()) {
    strikeOdd(new Uint8Array(memory.buffer, at, bytes + stretchBytes), primes);
    table.set([at, bytes, 0], 4 * i);
    at += aligned(bytes + stretchBytes);
  }
}

/** Positions the patterns so that the byte `start` comes next. */
export function enterPatterns(memory: KernelMemory, start: number): void {
  const table = new Uint32Array(memory.buffer, tableAt);
  for (const [i, { bytes }] of patterns.entries()) table[4 * i + 2] = start % bytes;
}

/** Writes the base primes as records of eight bytes; returns the address of the first one of each class. */
export function writeRecords(memory: KernelMemory, { classes }: BasePrimes): number[] {
  grow(memory, recordsAt + classes.reduce((sum, primes) => sum + 8 * primes.length, 0));
  let at = recordsAt;
  return classes.map((primes) => {
    const first = at;
    const records = new Uint32Array(memory.buffer, first, 2 * primes.length);
    for (const [i, p] of primes.entries()) records[2 * i] = p;
    at += 8 * primes.length;
    return first;
  });
}

/** Clears what turns wrote after the last block. */
export function clearMargin(memory: KernelMemory): void {
  new Uint8Array(memory.buffer, origin + blockBytes, marginBytes).fill(0);
}

function grow(memory: KernelMemory, bytes: number): void {
  const missing = bytes - memory.buffer.byteLength;
  if (missing > 0) memory.grow(Math.ceil(missing / pageBytes));
}
