/**
 * The hot loops of the prime sieve. Memory is laid out and filled by ../sieveMemory.ts; all addresses come from
 * ../sieveKernel.ts, and nothing is allocated here.
 */
export { crossSparse, locateSparse } from "./crossSparse";
export { crossTurns } from "./crossTurns";

/** Patterns that are ORed at a time, and bytes between two checks for the end of a pattern. */
const patternsAtATime: usize = 8;
const stretchBytes: usize = 512;

/**
 * Writes eight patterns ORed to `at` to `end`, over what is there or (unless `fresh`) into it; whole stretches.
 * The table holds 16 bytes for each pattern: its address, its length, and how far into it the next byte lies. Each
 * pattern goes on for one stretch after its end.
 */
export function preSieve(table: usize, at: usize, end: usize, fresh: bool): void {
  while (at < end) {
    let a = entered(table, 0);
    let b = entered(table, 1);
    let c = entered(table, 2);
    let d = entered(table, 3);
    let e = entered(table, 4);
    let f = entered(table, 5);
    let g = entered(table, 6);
    let h = entered(table, 7);
    for (const stop = at + stretchBytes; at < stop; at += 16) {
      const abcd = v128.or(v128.or(v128.load(a), v128.load(b)), v128.or(v128.load(c), v128.load(d)));
      const efgh = v128.or(v128.or(v128.load(e), v128.load(f)), v128.or(v128.load(g), v128.load(h)));
      const all = v128.or(abcd, efgh);
      v128.store(at, fresh ? all : v128.or(all, v128.load(at)));
      a += 16;
      b += 16;
      c += 16;
      d += 16;
      e += 16;
      f += 16;
      g += 16;
      h += 16;
    }
    for (let i: usize = 0; i < patternsAtATime; i++) {
      const length = load<u32>(table + i * 16, 4);
      const offset = load<u32>(table + i * 16, 8) + (stretchBytes as u32);
      store<u32>(table + i * 16, offset < length ? offset : offset - length, 8);
    }
  }
}

// @ts-ignore: decorator
@inline
function entered(table: usize, pattern: usize): usize {
  return load<u32>(table + pattern * 16) + load<u32>(table + pattern * 16, 8);
}

/** Locates the turns, `turns` · p bytes long, that contain the absolute byte `start`, which lies at `origin`. */
export function locateTurns(first: usize, last: usize, turns: u32, start: f64, origin: usize): void {
  for (let record = first; record < last; record += 8) {
    const p = load<u32>(record);
    const length = (turns * p) as f64;
    const a = (p / 30) as f64;
    const turn = Math.floor((start - a) / length) * length + a;
    store<u32>(record, (origin as i32) + ((turn - start) as i32), 4);
  }
}

/** Moves on to the next block: the next turns are `bytes` nearer. */
export function rewind(first: usize, last: usize, bytes: u32): void {
  for (let record = first; record < last; record += 8) store<u32>(record, load<u32>(record, 4) - bytes, 4);
}

/** ORs what turns wrote after the end of a block into the start of the next one, and clears it. */
export function moveStrokes(from: usize, to: usize, bytes: usize): void {
  for (const end = from + bytes; from < end; from += 16, to += 16) {
    v128.store(to, v128.or(v128.load(to), v128.load(from)));
    v128.store(from, i64x2.splat(0));
  }
}

/** Zero bits; whole 32 bytes. */
export function countZeros(at: usize, end: usize): i32 {
  const bits = (end - at) * 8;
  let set: i64 = 0;
  for (; at < end; at += 32) {
    set += popcnt(load<i64>(at)) + popcnt(load<i64>(at, 8));
    set += popcnt(load<i64>(at, 16)) + popcnt(load<i64>(at, 24));
  }
  return (bits as i32) - (set as i32);
}
