import { instantiate, type KernelGlobal, type KernelMemory, kernelLoader } from "../loadKernel.ts";

/**
 * The exports of `assembly/index.ts`, documented there. The globals are addresses. Nothing but +, -, ·, /, √ and whole
 * numbers makes a result, so that its bits are the same on any machine; `Math.exp` and `Math.log` may differ.
 */
export interface PathLoops {
  readonly memory: KernelMemory;
  readonly normals: KernelGlobal;
  readonly columns: KernelGlobal;
  readonly strideBytes: KernelGlobal;
  readonly bounds: KernelGlobal;
  readonly rests: KernelGlobal;
  readonly hits: KernelGlobal;
  readonly sums: KernelGlobal;
  /** The key's four words, then the counter's. */
  fractions(count: number, ...words: readonly number[]): void;
  quantiles(count: number): void;
  addPaths(
    count: number,
    antithetic: boolean,
    sign: number,
    spot: number,
    strike: number,
    drift: number,
    spread: number,
    deviation: number,
    volatilityTime: number,
  ): void;
  sumColumn(k: number, count: number): number;
  exponential(x: number): number;
  logarithm(x: number): number;
  quantile(q: number): number;
}

/** Numbers that a kernel takes at a time; `assembly/memory.ts` has room for no more. */
export const blockNormals = 1024;

export const pathLoops = kernelLoader("options", instantiate<PathLoops>);

/** e^x within 2 units in the last place, beyond ±700 within 4. Not for NaN. */
export const exp = (x: number): number => pathLoops().exponential(x);

/** ln x of a positive normal number, within 2 units in the last place. */
export const ln = (x: number): number => pathLoops().logarithm(x);

/** The standard normal quantile of probability 1/2 + q, for -1/2 < q < 1/2, to about 16 digits. */
export const quantileFromMiddle = (q: number): number => pathLoops().quantile(q);

/** Doubles in the kernel's memory from an address on. */
export const doublesAt = (loops: PathLoops, at: KernelGlobal, length: number, skipBytes = 0): Float64Array =>
  new Float64Array(loops.memory.buffer, at.value + skipBytes, length);

/** Returns a function that adds the first `count` numbers of `column`, the kernel's column `k`, to a sum. */
export function columnAdder(loops: PathLoops) {
  const parts = doublesAt(loops, loops.sums, 2);
  const rests = doublesAt(loops, loops.rests, blockNormals);
  return (sum: { add(x: number): void }, k: number, column: Float64Array, count: number): void => {
    const left = loops.sumColumn(k, count);
    if (left >= 0) for (const part of parts) sum.add(part);
    const each = left < 0 ? column.subarray(0, count) : rests.subarray(0, left);
    for (const x of each) sum.add(x);
  };
}
