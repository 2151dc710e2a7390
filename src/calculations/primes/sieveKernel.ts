import { instantiate, type KernelMemory, kernelLoader } from "../loadKernel.ts";
import { type BasePrimes, basePrimes, countUpTo } from "./basePrimes.ts";
import * as memory from "./sieveMemory.ts";

const { blockBytes, marginBytes, origin } = memory;
/** Bytes crossed at a time by the small primes, and pre-sieved at a time: a first-level cache, and half of one. */
const subBlockBytes = 32 * 1024;
const pieceBytes = 16 * 1024;

/**
 * The primes up to `upTo`, and above those of the line before, are crossed out in turns of so many strokes, through
 * so many bytes at a time. Turns of 48 strokes leave out a seventh of the work, but are seven times as long: they
 * must fit into the margin, and should into the bytes.
 */
const phases = [
  { upTo: 4_096, strokes: 48, stepBytes: subBlockBytes },
  { upTo: 8_192, strokes: 8, stepBytes: subBlockBytes },
  { upTo: marginBytes / 7, strokes: 48, stepBytes: blockBytes },
  { upTo: marginBytes, strokes: 8, stepBytes: blockBytes },
] as const;

/** The exports of `assembly/index.ts`, documented there. Most arguments are addresses or bytes. */
interface SieveLoops {
  readonly memory: KernelMemory;
  preSieve(table: number, at: number, end: number, fresh: boolean): void;
  locateTurns(first: number, last: number, turns: number, start: number, origin: number): void;
  locateSparse(first: number, last: number, start: number): void;
  crossTurns(residueClass: number, strokes: number, first: number, last: number, end: number): void;
  crossSparse(residueClass: number, first: number, last: number, origin: number, bytes: number): void;
  moveStrokes(from: number, to: number, bytes: number): void;
  rewind(first: number, last: number, bytes: number): void;
  countZeros(at: number, end: number): number;
}

/** Records of the base primes of one residue class, from one address to another. */
interface Run {
  readonly residueClass: number;
  readonly first: number;
  readonly last: number;
}
interface Runs {
  readonly turns: readonly (Run & (typeof phases)[number])[];
  /** Base primes crossed in turns, all together, and the longer ones. */
  readonly dense: readonly Run[];
  readonly sparse: readonly Run[];
}

/**
 * The hot part of the sieve: strikes composites out of one block of numbers after the other, one byte for 30 numbers.
 * Tests compare `sieveKernel` with a plain sieve.
 */
export interface SieveKernel {
  /** Multiples of the primes up to this one are struck out whatever the root. */
  readonly preSievedMax: number;
  /**
   * Prepares for blocks from byte `start` on, a multiple of 4, in which multiples of the primes up to `root` are
   * struck out. Returns the length of a block in bytes.
   */
  begin(start: number, root: number): number;
  /**
   * Sieves the next block, `bytes` long at byte `at`: a whole one, or the last one. Returns its bytes, in which the
   * primes up to `root` are struck out as well; they are valid until the next call.
   */
  sieve(at: number, bytes: number): Uint8Array;
  /** How many numbers of the block, `bytes` long, are not struck out. */
  count(bytes: number): number;
}

/** The kernel compiled from `assembly/`: the hot loops are there, the order in which they run is here. */
export function sieveKernel(wasm: Uint8Array): SieveKernel {
  const loops = instantiate<SieveLoops>(wasm);
  memory.writePatterns(loops.memory);
  let base: BasePrimes = { limit: 0, classes: [] };
  let classesAt: readonly number[] = [];
  let runs: Runs = { turns: [], dense: [], sparse: [] };
  return {
    preSievedMax: memory.preSievedMax,
    begin(start, root) {
      if (base.limit < root) {
        base = basePrimes(memory.preSievedMax, root);
        classesAt = memory.writeRecords(loops.memory, base);
      }
      memory.enterPatterns(loops.memory, start);
      memory.clearMargin(loops.memory);
      runs = runsUpTo(root, { base, classesAt });
      for (const { first, last, strokes } of runs.turns)
        loops.locateTurns(first, last, strokes === 48 ? 7 : 1, start, origin);
      for (const { first, last } of runs.sparse) loops.locateSparse(first, last, start);
      return blockBytes;
    },
    sieve(_at, bytes) {
      const limit = origin + bytes;
      preSieve(loops, limit);
      loops.moveStrokes(origin + blockBytes, origin, marginBytes);
      crossTurns(loops, runs, { limit, stepBytes: subBlockBytes });
      crossTurns(loops, runs, { limit, stepBytes: blockBytes });
      for (const { first, last } of runs.dense) loops.rewind(first, last, bytes);
      for (const { residueClass, first, last } of runs.sparse)
        loops.crossSparse(residueClass, first, last, origin, bytes);
      return new Uint8Array(loops.memory.buffer, origin, bytes);
    },
    count(bytes) {
      const padded = Math.ceil(bytes / 32) * 32;
      new Uint8Array(loops.memory.buffer).fill(0xff, origin + bytes, origin + padded);
      return loops.countZeros(origin, origin + padded);
    },
  };
}

export const loadSieveKernel = kernelLoader("primes", sieveKernel);

/** Sorts the records of the base primes up to `root` by how they are crossed out. */
function runsUpTo(
  root: number,
  { base, classesAt }: { base: BasePrimes; classesAt: readonly number[] },
): Runs {
  const between = (above: number, upTo: number): Run[] =>
    base.classes.map((primes, residueClass) => {
      const record = (limit: number): number =>
        (classesAt[residueClass] as number) + 8 * countUpTo(primes, Math.min(root, limit));
      return { residueClass, first: record(above), last: record(upTo) };
    });
  const turns = phases.flatMap((phase, i) =>
    between(phases[i - 1]?.upTo ?? 0, phase.upTo).map((run) => ({ ...run, ...phase })),
  );
  return { turns, dense: between(0, marginBytes), sparse: between(marginBytes, root) };
}

function preSieve(loops: SieveLoops, limit: number): void {
  for (let at = origin; at < limit; at += pieceBytes) {
    const end = Math.min(at + pieceBytes, limit);
    for (const [pass, table] of memory.preSieveTables.entries()) loops.preSieve(table, at, end, pass === 0);
  }
}

function crossTurns(
  loops: SieveLoops,
  { turns }: Runs,
  { limit, stepBytes }: { limit: number; stepBytes: number },
): void {
  const now = turns.filter((run) => run.stepBytes === stepBytes);
  for (let at = origin; at < limit; at += stepBytes) {
    const end = Math.min(at + stepBytes, limit);
    for (const { residueClass, strokes, first, last } of now)
      loops.crossTurns(residueClass, strokes, first, last, end);
  }
}
