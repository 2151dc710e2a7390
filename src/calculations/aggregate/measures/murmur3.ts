import { utf8 } from "../cells/textIds.ts";

/**
 * The first 53 bits of MurmurHash3_x86_128 of `bytes[from, to)`, as a whole number: A. Appleby, public domain,
 * https://github.com/aappleby/smhasher. Only 32-bit products, which JavaScript has as `Math.imul`.
 */
export function hash53(bytes: Uint8Array, from: number, to: number, seed: number): number {
  const words = hash128(bytes, from, to, seed);
  return (words[0] as number) * 2 ** 21 + ((words[1] as number) >>> 11);
}

/** The hash of a text as UTF-8. */
export function textHash53(text: string, seed: number): number {
  utf8.write(text);
  return hash53(utf8.bytes, 0, utf8.length, seed);
}

const words = new Uint32Array(4);

/** All 128 bits as four words, the first ones first; valid until the next call. */
export function hash128(bytes: Uint8Array, from: number, to: number, seed: number): Uint32Array {
  const length = to - from;
  let h1 = seed;
  let h2 = seed;
  let h3 = seed;
  let h4 = seed;
  const whole = from + (length & ~15);
  for (let at = from; at < whole; at += 16) {
    h1 = turn(h1 ^ mixed(wordAt(bytes, at), c1, 15, c2), 19, h2, 0x561ccd1b);
    h2 = turn(h2 ^ mixed(wordAt(bytes, at + 4), c2, 16, c3), 17, h3, 0x0bcaa747);
    h3 = turn(h3 ^ mixed(wordAt(bytes, at + 8), c3, 17, c4), 15, h4, 0x96cd1c35);
    h4 = turn(h4 ^ mixed(wordAt(bytes, at + 12), c4, 18, c1), 13, h1, 0x32ac3b17);
  }
  if (whole < to) {
    h1 ^= mixed(lastWord(bytes, whole, to), c1, 15, c2);
    h2 ^= mixed(lastWord(bytes, whole + 4, to), c2, 16, c3);
    h3 ^= mixed(lastWord(bytes, whole + 8, to), c3, 17, c4);
    h4 ^= mixed(lastWord(bytes, whole + 12, to), c4, 18, c1);
  }
  const all = (h1 ^ length) + (h2 ^ length) + (h3 ^ length) + (h4 ^ length);
  h1 = finalMix(all);
  h2 = finalMix((h2 ^ length) + all);
  h3 = finalMix((h3 ^ length) + all);
  h4 = finalMix((h4 ^ length) + all);
  const sum = h1 + h2 + h3 + h4;
  words[0] = sum;
  words[1] = h2 + sum;
  words[2] = h3 + sum;
  words[3] = h4 + sum;
  return words;
}

const c1 = 0x239b961b;
const c2 = 0xab0e9789;
const c3 = 0x38b34ae5;
const c4 = 0xa1e38b93;

const rotated = (word: number, by: number): number => (word << by) | (word >>> (32 - by));

const mixed = (word: number, first: number, by: number, second: number): number =>
  Math.imul(rotated(Math.imul(word, first), by), second);

const turn = (word: number, by: number, next: number, constant: number): number =>
  (Math.imul((rotated(word, by) + next) | 0, 5) + constant) | 0;

function finalMix(word: number): number {
  let h = word | 0;
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return h ^ (h >>> 16);
}

const wordAt = (bytes: Uint8Array, at: number): number =>
  (bytes[at] as number) |
  ((bytes[at + 1] as number) << 8) |
  ((bytes[at + 2] as number) << 16) |
  ((bytes[at + 3] as number) << 24);

/** The bytes from `at` on up to `to`, at most four of them. */
function lastWord(bytes: Uint8Array, at: number, to: number): number {
  let word = 0;
  for (let i = Math.min(to, at + 4) - 1; i >= at; i--) word = (word << 8) | (bytes[i] as number);
  return word;
}
