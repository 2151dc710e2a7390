const [plus, minus, dot, zero, nine, lowerE] = [0x2b, 0x2d, 0x2e, 0x30, 0x39, 0x65] as const;

const words = ["true", "false", "null"].map((word) => Buffer.from(word));

/** The end of `true`, `false` or `null` at `from`, or -1. */
export function wordEnd(bytes: Uint8Array, from: number): number {
  const word = words.find(([first]) => first === bytes[from]);
  if (word === undefined) return -1;
  for (let at = 0; at < word.length; at++) if (bytes[from + at] !== word[at]) return -1;
  return from + word.length;
}

/**
 * The end of a number at `from` by the grammar of RFC 8259, section 6: no plus, no leading zeros, digits on both sides of a
 * point. `from` if none begins there, and -1 if one begins and does not end.
 */
export function numberEnd(bytes: Uint8Array, from: number): number {
  const first = bytes[from] === minus ? from + 1 : from;
  let at = bytes[first] === zero ? first + 1 : digitsEnd(bytes, first);
  if (at === first) return first === from ? from : -1;
  if (bytes[at] === dot) {
    const part = at + 1;
    at = digitsEnd(bytes, part);
    if (at === part) return -1;
  }
  if (((bytes[at] as number) | 0x20) === lowerE) {
    const power = bytes[at + 1] === plus || bytes[at + 1] === minus ? at + 2 : at + 1;
    at = digitsEnd(bytes, power);
    if (at === power) return -1;
  }
  return at;
}

function digitsEnd(bytes: Uint8Array, from: number): number {
  let at = from;
  for (let byte = bytes[at] as number; byte >= zero && byte <= nine; byte = bytes[at] as number) at += 1;
  return at;
}
