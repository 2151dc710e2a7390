import { decimalAt } from "./decimals";
import { found, kinds, numberCell, numbers, present, putCell, rawCell, records, seen, shape, shapeBytes, table, task, textCell } from "./memory";
import { escaped, lineEnd, minus, quote, skipBlanks, stringEnd, valueEnd, zero } from "./tokens";

const comma: u32 = 0x2c;
const colon: u32 = 0x3a;
const open: u32 = 0x7b;
const close: u32 = 0x7d;

/** Characters of a number up to which its double holds it, since it has at most 15 digits. */
const heldMax: usize = 15;

let block: usize = 0;
/** How many wanted names there are; the table has for each where its bytes begin in the table, and how many they are. */
let names: i32 = 0;
let raws = 0;
/** The members of the lines before, by their number: where the name begins, its length, and its place or -1. */
let shapeEnd: usize = shape;

/**
 * Cuts lines in `[from, length)` of a block, which ends with a line feed, that are a flat JSON object, by RFC 8259: each that
 * it accepts is one that JSON.parse accepts, with the wanted members as JSON.parse gives them. Returns where the next line
 * begins: behind the last one, at an unusual one, or where no row is left.
 */
export function cutObjects(bytes: usize, from: i32, length: i32): i32 {
  const width = load<i32>(task);
  const rowsMax = load<i32>(task, 4);
  names = width;
  block = bytes;
  raws = 0;
  shapeEnd = shape;
  const limit = bytes + length;
  let line = bytes + from;
  let rows = 0;
  let cell = 0;
  let isUnusual = 0;
  while (line < limit && rows < rowsMax) {
    memory.fill(kinds + cell, 0, width);
    memory.fill(seen, 0, width);
    store<i32>(records + (rows << 2), (line - bytes) as i32);
    const rawsBefore = raws;
    const next = cutLine(line, cell);
    if (next === 0) {
      raws = rawsBefore;
      isUnusual = 1;
      break;
    }
    for (let place = 0; place < width; place += 16) {
      v128.store(present + place, v128.or(v128.load(present + place), v128.load(seen + place)));
    }
    rows += 1;
    cell += width;
    line = next;
  }
  store<i32>(found, rows);
  store<i32>(found, raws, 4);
  store<i32>(found, isUnusual, 8);
  return (line - bytes) as i32;
}

/** The start of the next line, or 0 if JSON.parse has to judge: nesting, a name with an escape, a wanted name twice, no JSON. */
function cutLine(line: usize, cell: i32): usize {
  let at = skipBlanks(line);
  if (load<u8>(at) !== open) return 0;
  at = skipBlanks(at + 1);
  if (load<u8>(at) === close) return lineEnd(at + 1);
  let member = shape;
  while (true) {
    if (load<u8>(at) !== quote) return 0;
    const name = at + 1;
    let place = 0;
    if (member < shapeEnd && isSame(name, member)) {
      place = load<i32>(member, 8);
      at = name + load<i32>(member, 4);
    } else {
      at = stringEnd(name);
      if (at === 0 || escaped) return 0;
      place = placeOf(name, (at - name) as i32);
      if (member < shape + shapeBytes) {
        store<usize>(member, name);
        store<i32>(member, (at - name) as i32, 4);
        store<i32>(member, place, 8);
        if (member >= shapeEnd) shapeEnd = member + 12;
      }
    }
    at = skipBlanks(at + 1);
    if (load<u8>(at) !== colon) return 0;
    at = skipBlanks(at + 1);
    at = place < 0 ? valueEnd(at) : take(at, cell + place, place);
    if (at === 0) return 0;
    at = skipBlanks(at);
    const next: u32 = load<u8>(at);
    if (next === close) return lineEnd(at + 1);
    if (next !== comma) return 0;
    at = skipBlanks(at + 1);
    member += 12;
  }
}

/** Whether the name is that of the member, and ends as it does. */
// @ts-ignore: decorator
@inline
function isSame(name: usize, member: usize): bool {
  const other = load<usize>(member);
  let left = load<i32>(member, 4) + 1;
  let at: usize = 0;
  for (; left > 16; left -= 16, at += 16) {
    if (i8x16.bitmask(i8x16.eq(v128.load(name + at), v128.load(other + at))) !== 0xffff) return false;
  }
  const same = i8x16.bitmask(i8x16.eq(v128.load(name + at), v128.load(other + at)));
  return (~same & ((1 << left) - 1)) === 0;
}

/** The place of the name, or -1. */
function placeOf(name: usize, length: i32): i32 {
  for (let place = 0; place < names; place++) {
    const entry = table + (place << 3);
    if (load<i32>(entry, 4) === length && memory.compare(name, table + load<i32>(entry), length) === 0) return place;
  }
  return -1;
}

/** Puts a wanted value into its cell and returns its end, or 0. */
function take(at: usize, cell: i32, place: i32): usize {
  if (load<u8>(seen + place) !== 0) return 0;
  store<u8>(seen + place, 1);
  const end = valueEnd(at);
  if (end === 0) return 0;
  const byte: u32 = load<u8>(at);
  if (byte === quote) {
    if (escaped) putRaw(cell, at, end);
    else {
      store<u8>(kinds + cell, textCell);
      store<f64>(numbers + (cell << 3), decimalAt(at + 1, end - 1));
      putCell(cell, block, at + 1, end - 1);
    }
  } else if (byte === minus || byte - zero < 10) {
    if (end - at > heldMax) return 0;
    const value = decimalAt(at, end);
    // An exponent.
    if (isNaN(value)) return 0;
    store<u8>(kinds + cell, numberCell);
    store<f64>(numbers + (cell << 3), value);
    putCell(cell, block, at, end);
  } else if (byte !== 0x6e) putRaw(cell, at, end);
  return end;
}

/** A truth value, or a string with an escape: what that means is decided by JSON.parse. */
function putRaw(cell: i32, from: usize, to: usize): void {
  raws += 1;
  store<u8>(kinds + cell, rawCell);
  putCell(cell, block, from, to);
}
