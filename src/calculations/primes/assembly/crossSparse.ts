/**
 * Base primes so long that few of their multiples fall into a block: stroke by stroke, from a table instead of
 * constants, because here the memory is slower than the code. Records of eight bytes: the prime, then 64 times the
 * distance of its next multiple from the start of the block, plus the stroke of that multiple in its turn (0 to 47).
 */
import { bitOf } from "./crossTurns";

const strokes = 48;
/** For each class and stroke: mask | bytes to the next stroke beyond steps of a << 8 | steps of a << 16. */
const wheel: usize = memory.data(4 * 8 * strokes);
/** For n mod 210: the stroke of the first w ≥ n that 2, 3, 5 and 7 do not divide, and w - n. */
const strokeFrom: usize = memory.data(210);
const onTo: usize = memory.data(210);

export function crossSparse(residueClass: u32, first: usize, last: usize, origin: usize, bytes: u32): void {
  const table = wheel + 4 * strokes * residueClass;
  for (let record = first; record < last; record += 8) {
    let next = load<u32>(record, 4);
    if (next < bytes << 6) {
      const a = load<u32>(record) / 30;
      let stroke = next & 63;
      let at = next >> 6;
      do {
        const step = load<u32>(table + 4 * stroke);
        store<u8>(origin + at, load<u8>(origin + at) | step);
        at += a * (step >> 16) + ((step >> 8) & 255);
        stroke = stroke == strokes - 1 ? 0 : stroke + 1;
      } while (at < bytes);
      next = (at << 6) | stroke;
    }
    store<u32>(record, next - (bytes << 6), 4);
  }
}

/** Locates the first multiple at or after the absolute byte `start`. */
export function locateSparse(first: usize, last: usize, start: f64): void {
  for (let record = first; record < last; record += 8) {
    const p = load<u32>(record) as f64;
    const least = Math.ceil((start * 30) / p);
    const n = (least - Math.floor(least / 210) * 210) as usize;
    const multiple = p * (least + (load<u8>(onTo + n) as f64));
    const next = (Math.floor(multiple / 30) - start) as u32;
    store<u32>(record, (next << 6) | load<u8>(strokeFrom + n), 4);
  }
}

function isCoprime(n: i32): bool {
  return n % 2 != 0 && n % 3 != 0 && n % 5 != 0 && n % 7 != 0;
}

function drawWheel(): void {
  let stroke = 0;
  let from = 0;
  for (let w = 1; w <= 209; w++) {
    if (!isCoprime(w)) continue;
    for (; from <= w; from++) {
      store<u8>(strokeFrom + from, stroke);
      store<u8>(onTo + from, w - from);
    }
    let following = w + 1;
    while (!isCoprime(following)) following++;
    for (let c = 0; c < 8; c++) {
      const r = residueOf(c);
      const more = (r * following) / 30 - (r * w) / 30;
      store<u32>(wheel + 4 * (strokes * c + stroke), bitOf((r * w) % 30) | (more << 8) | ((following - w) << 16));
    }
    stroke++;
  }
}

function residueOf(residueClass: i32): i32 {
  return load<u8>(residues + residueClass);
}
const residues: usize = memory.data<u8>([1, 7, 11, 13, 17, 19, 23, 29]);

drawWheel();
