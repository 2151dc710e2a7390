/** The layout of memory; ../simulate.ts reads and writes at the exported addresses. */

/**
 * Room for a block of 1,024 doubles and more, and not a power of 2: what is written to several blocks at the same place
 * would fall into the same lines of the first-level cache, and reads nearby would wait for it.
 */
export const strideBytes: i32 = 8 * 1024 + 576;

export const normals: usize = memory.data(strideBytes, 16);
/** Seven blocks, in the order of `sumNames` in ../moments.ts. */
export const columns: usize = memory.data(7 * strideBytes, 16);
/** For each column a bound of the absolute values of what is in it. */
export const bounds: usize = memory.data(7 * 8, 16);
/** The rests that `sumColumn` leaves. */
export const rests: usize = memory.data(8 * 1024, 16);
/** Of all samples of the block: hits, hits². */
export const hits: usize = memory.data(2 * 8, 16);
/** Of one column: the upper parts, the lower parts. */
export const sums: usize = memory.data(2 * 8, 16);

// @ts-ignore: decorator
@inline
export function columnAt(k: usize): usize {
  return columns + k * strideBytes;
}

/**
 * The double at `address`, twice. Constants of hot loops lie in memory: there are more of them than registers, and a
 * load is one instruction where a constant takes the engine three, each time.
 */
// @ts-ignore: decorator
@inline
export function both(address: usize): v128 {
  return v128.load64_splat(address);
}
