import { type BasePrimes, basePrimes, countUpTo } from "./basePrimes.ts";
import type { SieveKernel } from "./countPrimes.ts";
import { type CrossTurns, instantiateSieve } from "./sieveLoops.ts";
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

/** Records of base primes, from one address to another. */
interface Run {
  readonly first: number;
  readonly last: number;
}
interface Runs {
  readonly turns: readonly (Run & { stepBytes: number; cross: CrossTurns })[];
  /** By class: those in turns all together, and those beyond. */
  readonly dense: readonly Run[];
  readonly sparse: readonly Run[];
}

/**
 * The kernel compiled from `assembly/`: there the hot loops, here the order in which they run. Throws where the
 * engine has no WebAssembly with SIMD.
 */
export function webAssemblyKernel(wasm: Uint8Array): SieveKernel {
  const { loops, crossTurns } = instantiateSieve(wasm);
  memory.writePatterns(loops.memory);
  let base: BasePrimes = { limit: 0, classes: [] };
  let classesAt: readonly number[] = [];
  let runs: Runs = { turns: [], dense: [], sparse: [] };

  /** The base primes above one number up to another, by class. */
  const between = (above: number, upTo: number): Run[] =>
    base.classes.map((primes, c) => {
      const at = classesAt[c] as number;
      return { first: at + 8 * countUpTo(primes, above), last: at + 8 * countUpTo(primes, upTo) };
    });

  function place(start: number, root: number): Runs {
    const turns = phases.flatMap(({ upTo, strokes, stepBytes }, i) =>
      between(Math.min(root, phases[i - 1]?.upTo ?? 0), Math.min(root, upTo)).map((run, c) => {
        loops.placeTurns(run.first, run.last, strokes === 48 ? 7 : 1, start, origin);
        return { ...run, stepBytes, cross: crossTurns[strokes][c] as CrossTurns };
      }),
    );
    const sparse = between(Math.min(root, marginBytes), root);
    for (const { first, last } of sparse) loops.placeSparse(first, last, start);
    return { turns, sparse, dense: between(0, Math.min(root, marginBytes)) };
  }

  function preSieve(limit: number): void {
    for (let at = origin; at < limit; at += pieceBytes) {
      const end = Math.min(at + pieceBytes, limit);
      for (const [pass, table] of memory.preSieveTables.entries()) {
        loops.preSieve(table, at, end, pass === 0 ? 1 : 0);
      }
    }
  }

  function crossTurnsThrough(limit: number, stepBytes: number): void {
    const now = runs.turns.filter((run) => run.stepBytes === stepBytes);
    for (let at = origin; at < limit; at += stepBytes) {
      const end = Math.min(at + stepBytes, limit);
      for (const { first, last, cross } of now) cross(first, last, end);
    }
  }

  return {
    name: "WebAssembly",
    preSievedMax: memory.preSievedMax,
    begin(start, root) {
      if (base.limit < root) {
        base = basePrimes(memory.preSievedMax, root);
        classesAt = memory.writeRecords(loops.memory, base);
      }
      memory.enterPatterns(loops.memory, start);
      memory.clearMargin(loops.memory);
      runs = place(start, root);
      return blockBytes;
    },
    sieve(_at, bytes) {
      const limit = origin + bytes;
      preSieve(limit);
      loops.moveStrokes(origin + blockBytes, origin, marginBytes);
      crossTurnsThrough(limit, subBlockBytes);
      crossTurnsThrough(limit, blockBytes);
      for (const { first, last } of runs.dense) loops.rewind(first, last, bytes);
      for (const [c, { first, last }] of runs.sparse.entries()) {
        loops.crossSparse(c, first, last, origin, bytes);
      }
      return new Uint8Array(loops.memory.buffer, origin, bytes);
    },
    count(bytes) {
      const padded = Math.ceil(bytes / 32) * 32;
      new Uint8Array(loops.memory.buffer).fill(0xff, origin + bytes, origin + padded);
      return loops.countZeros(origin, origin + padded);
    },
  };
}
