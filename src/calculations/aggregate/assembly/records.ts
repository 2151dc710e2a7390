import { decimalAt } from "./decimals";
import { ends, found, kinds, numbers, putCell, rawCell, records, starts, table, task, textCell } from "./memory";

const lineFeed: u32 = 0x0a;
const carriageReturn: u32 = 0x0d;
const quote: u32 = 0x22;
const stepBytes: i32 = 64;

/**
 * Cuts records of CSV in `[from, length)` of `block`, which ends with a line feed, by the rules of d3-dsv. The table has
 * for each column its place among the cells of a row, or -1. A wanted field with a quote becomes a raw cell. Returns where
 * the next record begins: behind the last one, behind one that does not fit, or where no row is left.
 */
export function cutRecords(block: usize, from: i32, length: i32): i32 {
  const width = load<i32>(task);
  const rowsMax = load<i32>(task, 4);
  const columns = load<i32>(task, 8);
  const delimiter = load<u32>(task, 12);
  const limit = block + length;
  let record = block + from;
  let start = record;
  let field = 0;
  let quoted = false;
  let inside = false;
  let rows = 0;
  let raws = 0;
  let cell = 0;
  let misfit = 0;
  memory.fill(kinds, 0, width);
  store<i32>(records, from);
  for (let at = record; at < limit; ) {
    const window = at;
    let bits = marksAt(at, delimiter);
    at += stepBytes;
    if (at > limit) bits &= ((1 as u64) << ((limit - window) as u64)) - 1;
    while (bits !== 0) {
      const mark = window + (ctz(bits) as usize);
      bits &= bits - 1;
      const byte: u32 = load<u8>(mark);
      if (byte === quote) {
        if (!inside) {
          // Within a field that does not begin with one, a quote is text.
          inside = mark === start;
          quoted = true;
        } else if (load<u8>(mark + 1) === quote) {
          if (mark + 1 === at) at += 1;
          else bits &= bits - 1;
        } else inside = false;
        continue;
      }
      if (inside) continue;
      const place = field < columns ? load<i32>(table + (field << 2)) : -1;
      if (place >= 0 && mark > start) {
        const to = cell + place;
        putCell(to, block, start, mark);
        if (quoted) {
          raws += 1;
          store<u8>(kinds + to, rawCell);
        } else {
          store<u8>(kinds + to, textCell);
          store<f64>(numbers + (to << 3), decimalAt(start, mark));
        }
      }
      field += 1;
      start = mark + 1;
      quoted = false;
      if (byte === delimiter) continue;
      if (byte === carriageReturn && load<u8>(start) === lineFeed) {
        if (start === at) at += 1;
        else bits &= bits - 1;
        start += 1;
      }
      const isEmpty = field === 1 && (mark === record || (mark === record + 2 && load<u8>(record) === quote));
      if (field === columns && !isEmpty) {
        rows += 1;
        cell += width;
        record = start;
        if (rows === rowsMax) break;
      } else {
        record = start;
        if (!isEmpty) {
          misfit = field;
          break;
        }
      }
      field = 0;
      memory.fill(kinds + cell, 0, width);
      store<i32>(records + (rows << 2), (record - block) as i32);
    }
    if (misfit !== 0 || rows === rowsMax) break;
  }
  store<i32>(found, rows);
  store<i32>(found, raws, 4);
  store<i32>(found, misfit, 8);
  return (record - block) as i32;
}

/** A bit for each of 64 bytes that is a delimiter, a quote or a line end. */
// @ts-ignore: decorator
@inline
function marksAt(at: usize, delimiter: u32): u64 {
  let bits: u64 = 0;
  for (let part = 0; part < stepBytes; part += 16) {
    const bytes = v128.load(at + part);
    const quotes = v128.or(i8x16.eq(bytes, i8x16.splat(quote as i8)), i8x16.eq(bytes, i8x16.splat(delimiter as i8)));
    const lines = v128.or(i8x16.eq(bytes, i8x16.splat(lineFeed as i8)), i8x16.eq(bytes, i8x16.splat(carriageReturn as i8)));
    bits |= (i8x16.bitmask(v128.or(quotes, lines)) as u64) << part;
  }
  return bits;
}
