/**
 * Crosses out multiples, a whole turn of the wheel at a time, for the primes of one class: p = 30 a + r. Distances
 * and masks of the strokes depend on r alone, which is a constant wherever these functions are inlined.
 *
 * Base primes are records of eight bytes, from `first` to `last`: the prime, then the address where its current
 * turn starts. A turn that starts before `end` is crossed out completely, so up to one turn is written after `end`.
 */

/** Crosses out primes of one class, 0 to 7, in turns of 8 or 48 strokes. The compiler writes out each class. */
export function crossTurns(residueClass: u32, strokes: u32, first: usize, last: usize, end: usize): void {
  if (strokes == 8) turnsOfClass(residueClass, 8, first, last, end);
  else turnsOfClass(residueClass, 48, first, last, end);
}

// @ts-ignore: decorator
@inline
function turnsOfClass(residueClass: u32, strokes: u32, first: usize, last: usize, end: usize): void {
  if (residueClass == 0) turnsOf(1, strokes, first, last, end);
  else if (residueClass == 1) turnsOf(7, strokes, first, last, end);
  else if (residueClass == 2) turnsOf(11, strokes, first, last, end);
  else if (residueClass == 3) turnsOf(13, strokes, first, last, end);
  else if (residueClass == 4) turnsOf(17, strokes, first, last, end);
  else if (residueClass == 5) turnsOf(19, strokes, first, last, end);
  else if (residueClass == 6) turnsOf(23, strokes, first, last, end);
  else turnsOf(29, strokes, first, last, end);
}

/**
 * Turns of eight strokes are p bytes long. Those of 48 are 7 p bytes long, and leave out what 7 crosses out already, a
 * seventh of the work.
 */
// @ts-ignore: decorator
@inline
function turnsOf(r: i32, strokes: u32, first: usize, last: usize, end: usize): void {
  for (let record = first; record < last; record += 8) {
    let at: usize = load<u32>(record, 4);
    if (at >= end) continue;
    const a: usize = load<u32>(record) / 30;
    const a2 = a * 2;
    const a4 = a * 4;
    const a6 = a * 6;
    const a8 = a * 8;
    const a10 = a * 10;
    do {
      if (strokes == 8) {
        at = stroke(at, r, 1, a6);
        at = stroke(at, r, 7, a4);
        at = stroke(at, r, 11, a2);
        at = stroke(at, r, 13, a4);
        at = stroke(at, r, 17, a2);
        at = stroke(at, r, 19, a4);
        at = stroke(at, r, 23, a6);
        at = stroke(at, r, 29, a2 + r);
      } else {
        at = stroke(at, r, 1, a10);
        at = stroke(at, r, 11, a2);
        at = stroke(at, r, 13, a4);
        at = stroke(at, r, 17, a2);
        at = stroke(at, r, 19, a4);
        at = stroke(at, r, 23, a6);
        at = stroke(at, r, 29, a2);
        at = stroke(at, r, 31, a6);
        at = stroke(at, r, 37, a4);
        at = stroke(at, r, 41, a2);
        at = stroke(at, r, 43, a4);
        at = stroke(at, r, 47, a6);
        at = stroke(at, r, 53, a6);
        at = stroke(at, r, 59, a2);
        at = stroke(at, r, 61, a6);
        at = stroke(at, r, 67, a4);
        at = stroke(at, r, 71, a2);
        at = stroke(at, r, 73, a6);
        at = stroke(at, r, 79, a4);
        at = stroke(at, r, 83, a6);
        at = stroke(at, r, 89, a8);
        at = stroke(at, r, 97, a4);
        at = stroke(at, r, 101, a2);
        at = stroke(at, r, 103, a4);
        at = stroke(at, r, 107, a2);
        at = stroke(at, r, 109, a4);
        at = stroke(at, r, 113, a8);
        at = stroke(at, r, 121, a6);
        at = stroke(at, r, 127, a4);
        at = stroke(at, r, 131, a6);
        at = stroke(at, r, 137, a2);
        at = stroke(at, r, 139, a4);
        at = stroke(at, r, 143, a6);
        at = stroke(at, r, 149, a2);
        at = stroke(at, r, 151, a6);
        at = stroke(at, r, 157, a6);
        at = stroke(at, r, 163, a4);
        at = stroke(at, r, 167, a2);
        at = stroke(at, r, 169, a4);
        at = stroke(at, r, 173, a6);
        at = stroke(at, r, 179, a2);
        at = stroke(at, r, 181, a6);
        at = stroke(at, r, 187, a4);
        at = stroke(at, r, 191, a2);
        at = stroke(at, r, 193, a4);
        at = stroke(at, r, 197, a2);
        at = stroke(at, r, 199, a10);
        at = stroke(at, r, 209, a2 + 7 * r);
      }
    } while (at < end);
    store<u32>(record, at as u32, 4);
  }
}

/**
 * Crosses out p · w, the multiple by w of a turn, and advances by `step`. It lies r · w / 30 bytes after `at`, which
 * moves by multiples of a alone; so the distance is a constant that the instruction itself takes.
 */
// @ts-ignore: decorator
@inline
function stroke(at: usize, r: i32, w: i32, step: usize): usize {
  const byte = at + (r * w) / 30;
  store<u8>(byte, load<u8>(byte) | bitOf((r * w) % 30));
  return at + step;
}

/** The bit of a remainder, as in ../basePrimes.ts. */
// @ts-ignore: decorator
@inline
export function bitOf(n: i32): i32 {
  return n == 1 ? 1 : n == 7 ? 2 : n == 11 ? 4 : n == 13 ? 8 : n == 17 ? 16 : n == 19 ? 32 : n == 23 ? 64 : 128;
}
