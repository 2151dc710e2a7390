import type { Contract, Law } from "./law.ts";
import type { Moments } from "./moments.ts";

/**
 * Which random numbers: normal `n` of chunk `chunk` under `seed` is always the same, whoever makes it and
 * when.
 */
export interface Stream {
  /** 0 to 2^53 - 1. */
  readonly seed: number;
  readonly chunk: number;
}

/** An antithetic sample is two paths: the second of the negatives of the first one's normals. */
export interface Simulated {
  readonly contract: Contract;
  readonly law: Law;
  readonly antithetic: boolean;
}

/** Numbers that kernels take at a time; `assembly/memory.ts` has room for no more. */
export const blockNormals = 1024;

/** Key and counter of the Threefry block that makes a stream's normals `from` and `from + 1`; `from` is even. */
export const wordsOf = ({ seed, chunk }: Stream, from: number) => ({
  key: [seed, Math.floor(seed / 2 ** 32), 0, 0] as const,
  counter: [from / 2, chunk, 0, 0] as const,
});

/**
 * The hot part of the simulation, block by block. There are two, which give the same bits, as a test sees to:
 * `javaScriptKernel.ts` runs everywhere, `webAssemblyKernel.ts` takes less than half the time.
 */
export interface PathKernel {
  readonly name: "JavaScript" | "WebAssembly";
  /** `blockNormals` numbers, which the methods fill and read. */
  readonly normals: Float64Array;
  /**
   * Fills `normals` with normals `from` to `from + count` of a stream; `from` is even, `count` at most
   * `blockNormals`. Each is made of 52 bits, at the middle of its cell.
   */
  fillNormals(stream: Stream, from: number, count: number): void;
  /** Adds `count` samples; number i of `normals` is the y of the law that makes sample i's G. */
  addSamples(moments: Moments, simulated: Simulated, count: number): void;
}
