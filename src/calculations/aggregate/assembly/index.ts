/** The hot loop of cutting records; ../reading/marks.ts calls it. Nothing is allocated here. */

/** Bytes that are searched at once, a multiple of `stepBytes`: more than a batch of records has as a rule. */
export const blockBytes: i32 = 80 * 1024;
const stepBytes: i32 = 64;
/** Places are written four at a time, so up to three more than there are. */
const placesBytes: i32 = (blockBytes + 3) * 4;

export const block: usize = memory.data(blockBytes, 16);
/** Places of the bytes that are `usual`. */
export const usuals: usize = memory.data(placesBytes, 16);
/** Places of the bytes that are `special` or below `limit`, and for each the number of usual ones before it. */
export const specials: usize = memory.data(placesBytes, 16);
export const usualsBefore: usize = memory.data(placesBytes, 16);

/** How many places of each kind the last call found. */
export let usualCount: i32 = 0;
export let specialCount: i32 = 0;

/** Finds the places among the first `length` bytes of `block`, in rising order, and adds `base` to each. */
export function findMarks(length: i32, base: i32, usual: i32, special: i32, limit: i32): void {
  const commons = i8x16.splat(usual as i8);
  const rares = i8x16.splat(special as i8);
  const limits = i8x16.splat(limit as i8);
  usualCount = 0;
  specialCount = 0;
  for (let from = 0; from < length; from += stepBytes) {
    const at = block + from;
    let found: u64 = 0;
    let bits: u64 = 0;
    for (let part = 0; part < stepBytes; part += 16) {
      const bytes = v128.load(at + part);
      found |= (i8x16.bitmask(i8x16.eq(bytes, commons)) as u64) << part;
      const other = v128.or(i8x16.eq(bytes, rares), v128.lt<u8>(bytes, limits));
      bits |= (i8x16.bitmask(other) as u64) << part;
    }
    if (length - from < stepBytes) {
      const inside = ((1 as u64) << ((length - from) as u64)) - 1;
      found &= inside;
      bits &= inside;
    }
    // A delimiter may be a control character.
    bits &= ~found;
    for (; bits !== 0; bits &= bits - 1) {
      const place = ctz(bits);
      store<i32>(specials + (specialCount << 2), base + from + (place as i32));
      const before = popcnt(found & (((1 as u64) << place) - 1)) as i32;
      store<i32>(usualsBefore + (specialCount << 2), usualCount + before);
      specialCount += 1;
    }
    let out = usuals + (usualCount << 2);
    usualCount += popcnt(found) as i32;
    // Four at a time, since how many there are is hard for a processor to predict.
    for (const end = usuals + (usualCount << 2); out < end; out += 16) {
      for (let one = 0; one < 4; one++) {
        store<i32>(out + (one << 2), base + from + (ctz(found) as i32));
        found &= found - 1;
      }
    }
  }
}
