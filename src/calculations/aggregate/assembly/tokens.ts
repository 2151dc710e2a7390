import { digitsAt } from "./decimals";

export const quote: u32 = 0x22;
export const zero: u32 = 0x30;
export const minus: u32 = 0x2d;
const backslash: u32 = 0x5c;
const lineFeed: u32 = 0x0a;
const plus: u32 = 0x2b;
const dot: u32 = 0x2e;

/** The string scanned last has an escape. */
export let escaped: bool = false;

/** The end of a string, a number or a word that begins at `at`, or 0. */
export function valueEnd(at: usize): usize {
  const byte: u32 = load<u8>(at);
  if (byte === quote) {
    const end = stringEnd(at + 1);
    return end === 0 ? 0 : end + 1;
  }
  if (byte === minus || byte - zero < 10) return numberEnd(at);
  // true, null, false
  const word = load<u32>(at);
  if (word === 0x65757274 || word === 0x6c6c756e) return at + 4;
  return word === 0x736c6166 && load<u8>(at + 4) === 0x65 ? at + 5 : 0;
}

/** The closing quote of the string that begins at `from`, or 0. A control character, such as the end of the line, is none of it. */
export function stringEnd(from: usize): usize {
  escaped = false;
  let at = from;
  while (true) {
    const bytes = v128.load(at);
    const special = v128.or(
      v128.or(i8x16.eq(bytes, i8x16.splat(quote as i8)), i8x16.eq(bytes, i8x16.splat(backslash as i8))),
      i8x16.lt_u(bytes, i8x16.splat(0x20)),
    );
    const bits = i8x16.bitmask(special);
    if (bits === 0) {
      at += 16;
      continue;
    }
    at += ctz(bits) as usize;
    const byte: u32 = load<u8>(at);
    if (byte === quote) return at;
    if (byte !== backslash) return 0;
    escaped = true;
    const next: u32 = load<u8>(at + 1);
    if (next === 0x75) {
      for (let digit = at + 2; digit < at + 6; digit++) {
        const hex: u32 = load<u8>(digit);
        if (hex - zero >= 10 && (hex | 0x20) - 0x61 >= 6) return 0;
      }
      at += 6;
    } else if (isEscape(next)) at += 2;
    else return 0;
  }
}

/** Whether the byte is one of "\/bfnrt. */
function isEscape(byte: u32): bool {
  return (
    byte === quote || byte === backslash || byte === 0x2f || byte === 0x62 ||
    byte === 0x66 || byte === 0x6e || byte === 0x72 || byte === 0x74
  );
}

/** The end of a number at `from` by the grammar of RFC 8259, section 6, or 0: no leading zeros, digits on both sides of a point. */
function numberEnd(from: usize): usize {
  const first = from + ((load<u8>(from) === minus) as usize);
  let at = digitsEnd(first);
  if (at === first || (load<u8>(first) === zero && at > first + 1)) return 0;
  if (load<u8>(at) === dot) {
    const part = at + 1;
    at = digitsEnd(part);
    if (at === part) return 0;
  }
  if ((load<u8>(at) | 0x20) === 0x65) {
    const sign: u32 = load<u8>(at + 1);
    const power = at + 1 + ((sign === plus || sign === minus) as usize);
    at = digitsEnd(power);
    if (at === power) return 0;
  }
  return at;
}

// @ts-ignore: decorator
@inline
function digitsEnd(from: usize): usize {
  let at = from;
  let others = ~digitsAt(at) & 0xffff;
  while (others === 0) {
    at += 16;
    others = ~digitsAt(at) & 0xffff;
  }
  return at + (ctz(others) as usize);
}

// @ts-ignore: decorator
@inline
export function skipBlanks(from: usize): usize {
  let at = from;
  let byte: u32 = load<u8>(at);
  while (byte === 0x20 || byte === 0x09 || byte === 0x0d) {
    at += 1;
    byte = load<u8>(at);
  }
  return at;
}

/** The start of the next line, if only blanks follow the object, else 0. */
export function lineEnd(from: usize): usize {
  const at = skipBlanks(from);
  return load<u8>(at) === lineFeed ? at + 1 : 0;
}
