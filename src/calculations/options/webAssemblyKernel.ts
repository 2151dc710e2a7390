import { instantiate } from "../kernels/loadKernel.ts";
import { roots } from "./elementary.ts";
import { sumNames } from "./moments.ts";
import { blockNormals, type PathKernel, wordsOf } from "./pathKernel.ts";

/** What `assembly/index.ts` exports; its files say what each does. The globals are addresses. */
export interface PathLoops {
  readonly memory: WebAssembly.Memory;
  readonly normals: WebAssembly.Global;
  readonly columns: WebAssembly.Global;
  readonly strideBytes: WebAssembly.Global;
  readonly rests: WebAssembly.Global;
  readonly hits: WebAssembly.Global;
  readonly sums: WebAssembly.Global;
  readonly roots: WebAssembly.Global;
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
}

/**
 * The kernel compiled from `assembly/`: there the hot loops, here what goes in and comes out. Throws where the
 * engine has no WebAssembly with SIMD.
 */
export function webAssemblyKernel(wasm: Uint8Array): PathKernel {
  const loops = instantiate<PathLoops>(wasm);
  const doubles = (at: WebAssembly.Global, length: number, skipBytes = 0): Float64Array =>
    new Float64Array(loops.memory.buffer, at.value + skipBytes, length);
  doubles(loops.roots, roots.length).set(roots);
  const hits = doubles(loops.hits, 2);
  const parts = doubles(loops.sums, 2);
  const rests = doubles(loops.rests, blockNormals);
  const columns = sumNames.map((_, k) => doubles(loops.columns, blockNormals, k * loops.strideBytes.value));
  return {
    name: "WebAssembly",
    normals: doubles(loops.normals, blockNormals),
    fillNormals(stream, from, count) {
      const { key, counter } = wordsOf(stream, from);
      loops.fractions(count, ...key, ...counter);
      loops.quantiles(count);
    },
    addSamples(moments, { contract, law, antithetic }, count) {
      const { spot, strike, volatility } = contract;
      const { sign, drift, spread, deviation, meanTime } = law;
      const volatilityTime = volatility * meanTime;
      loops.addPaths(count, antithetic, sign, spot, strike, drift, spread, deviation, volatilityTime);
      moments.samples += count;
      moments.hits += hits[0] as number;
      moments.hits2 += hits[1] as number;
      for (const [k, name] of sumNames.entries()) {
        if (name === "payoffHits" && !antithetic) continue;
        const sum = moments.sums[name];
        const left = loops.sumColumn(k, count);
        if (left < 0) {
          sum.addAll(columns[k] as Float64Array, 0, count);
          continue;
        }
        for (const part of parts) sum.add(part);
        sum.addAll(rests, 0, left);
      }
    },
  };
}
