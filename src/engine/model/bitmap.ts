/** A set of small integers as bits, stored in base64url: bit `i` is bit `i % 8` of byte `i / 8`. */
export type Bitmap = Uint8Array;

export const emptyBitmap = (size: number): Bitmap => new Uint8Array(Math.ceil(size / 8));

/** A set with all of `size` members. */
export function fullBitmap(size: number): Bitmap {
  const bits = emptyBitmap(size).fill(0xff);
  if (size % 8 !== 0) bits[bits.length - 1] = (1 << (size % 8)) - 1;
  return bits;
}

export const hasBit = (bits: Bitmap, index: number): boolean =>
  ((bits[index >> 3] ?? 0) & (1 << (index & 7))) !== 0;

/** Sets the bit in place; true if it was clear. */
export function setBit(bits: Bitmap, index: number): boolean {
  const before = bits[index >> 3];
  if (before === undefined) throw new RangeError(`bit ${index} is outside a bitmap of ${bits.length} bytes`);
  const after = before | (1 << (index & 7));
  bits[index >> 3] = after;
  return after !== before;
}

export function clearBit(bits: Bitmap, index: number): void {
  const before = bits[index >> 3];
  if (before !== undefined) bits[index >> 3] = before & ~(1 << (index & 7));
}

export function countBits(bits: Bitmap): number {
  let count = 0;
  for (let rest of bits) for (; rest !== 0; rest &= rest - 1) count += 1;
  return count;
}

export const encodeBitmap = (bits: Bitmap): string => Buffer.from(bits).toString("base64url");

/** The inverse of `encodeBitmap` for a set of `size` members; pads or cuts a text of another length. */
export function decodeBitmap(text: string, size: number): Bitmap {
  const bits = emptyBitmap(size);
  bits.set(Buffer.from(text, "base64url").subarray(0, bits.length));
  return bits;
}
