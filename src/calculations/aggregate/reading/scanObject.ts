import { type Cells, numberCell, textCell } from "../cells/cells.ts";
import { TextIds } from "../cells/textIds.ts";
import { numberEnd, wordEnd } from "./jsonTokens.ts";
import { Marks } from "./marks.ts";
import { textOf } from "./utf8Text.ts";

/** What JSON.parse has to judge: nesting, a key with an escape, a wanted key that comes twice, a long number, or no JSON. */
export const unusual = -1;

const [quote, backslash, lineFeed] = [0x22, 0x5c, 0x0a] as const;
const [comma, colon, open, close, letterE, letterN, letterT, letterU] = [
  ...Buffer.from(",:{}entu"),
] as unknown as readonly [number, number, number, number, number, number, number, number];

/** Characters of a number up to which its double holds it, since it has at most 15 digits. */
const heldMax = 15;
/** Bytes of a name that is looked up by its length first. */
const lengthMax = 255;

const isBlank = (byte: number | undefined): boolean => byte === 0x20 || byte === 0x09 || byte === 0x0d;
const escapes = Uint8Array.from({ length: 256 }, (_, byte) =>
  '"\\/bfnrt'.includes(String.fromCharCode(byte)) ? 1 : 0,
);

/**
 * Reads lines that are a flat JSON object, by RFC 8259: each that it accepts is one that JSON.parse accepts, with the wanted
 * columns as JSON.parse gives them. The bytes are UTF-8, and a line feed ends each line.
 */
export class ObjectScanner {
  readonly #wanted: readonly string[];
  readonly #names = new TextIds();
  /** By the number of a name: its place among the columns. */
  readonly #places: number[] = [];
  /** Whether a name has that many bytes. */
  readonly #lengths = new Uint8Array(lengthMax + 1);
  /** By place: the last line, by its number, that had the column. */
  readonly #lastLine: Float64Array;
  #line = 0;
  /** Strings begin and end at quotes; escapes and control characters are special. */
  readonly #marks = new Marks({ usual: quote, special: backslash, limit: 0x20 });
  #bytes = new Uint8Array(0);
  /** The index of the next quote and of the next special mark. */
  #quote = 0;
  #special = 0;
  /** The string scanned last has an escape. */
  #escaped = false;

  constructor(wanted: readonly string[]) {
    this.#wanted = wanted;
    this.#lastLine = new Float64Array(wanted.length);
    for (const [place, name] of wanted.entries()) {
      // A name with an unpaired surrogate is never plain bytes.
      if (!name.isWellFormed()) continue;
      const bytes = Buffer.from(name);
      this.#places[this.#names.idOf(bytes, 0, bytes.length)] = place;
      this.#lengths[Math.min(bytes.length, lengthMax)] = 1;
    }
  }

  /** Begins a batch of lines. */
  begin(bytes: Uint8Array<ArrayBuffer>): void {
    this.#bytes = bytes;
    this.#marks.find(bytes);
    this.#quote = this.#special = 0;
  }

  /** Removes the wanted columns that the line scanned last had. */
  removeFrom(absent: Set<string>): void {
    for (const [place, name] of this.#wanted.entries()) {
      if (this.#lastLine[place] === this.#line) absent.delete(name);
    }
  }

  /** Scans the line at `start` into the row that begins with cell `first`. Returns the start of the next one, or `unusual`. */
  scan(cells: Cells, first: number, start: number): number {
    const bytes = this.#bytes;
    const { usuals } = this.#marks;
    this.#line += 1;
    while ((usuals[this.#quote] as number) < start) this.#quote += 1;
    let at = this.#skipBlanks(start);
    if (bytes[at] !== open) return unusual;
    at = this.#skipBlanks(at + 1);
    if (bytes[at] === close) return this.#lineEnd(at + 1);
    for (;;) {
      const key = at + 1;
      if (bytes[at] !== quote) return unusual;
      at = this.#stringEnd();
      if (at === unusual || this.#escaped) return unusual;
      const place = this.#placeOf(key, at - 1);
      at = this.#skipBlanks(at);
      if (bytes[at] !== colon) return unusual;
      at = this.#skipBlanks(at + 1);
      if (place === -1) {
        at = this.#valueEnd(at);
      } else {
        if (this.#lastLine[place] === this.#line) return unusual;
        this.#lastLine[place] = this.#line;
        at = this.#take(cells, first + place, at);
      }
      if (at === unusual) return unusual;
      at = this.#skipBlanks(at);
      const next = bytes[at];
      if (next === close) return this.#lineEnd(at + 1);
      if (next !== comma) return unusual;
      at = this.#skipBlanks(at + 1);
    }
  }

  /** The place of the name that is `bytes[from, to)`, or -1. */
  #placeOf(from: number, to: number): number {
    if (this.#lengths[Math.min(to - from, lengthMax)] === 0) return -1;
    const id = this.#names.find(this.#bytes, from, to);
    return id === -1 ? -1 : (this.#places[id] as number);
  }

  /** Puts a wanted value into its cell and returns its end. */
  #take(cells: Cells, cell: number, at: number): number {
    const bytes = this.#bytes;
    const end = this.#valueEnd(at);
    const byte = bytes[at];
    if (end === unusual) return unusual;
    if (byte === quote) {
      // What an escape means is decided by JSON.parse.
      if (this.#escaped) cells.putValue(cell, JSON.parse(textOf(bytes, at, end)) as string);
      else cells.put(cell, textCell, at + 1, end - 1);
    } else if (byte === letterN) {
      cells.putValue(cell, null);
    } else if (byte === letterT || byte === 0x66) {
      cells.putValue(cell, byte === letterT);
    } else {
      if (end - at > heldMax) return unusual;
      for (let digit = at; digit < end; digit++)
        if (((bytes[digit] as number) | 0x20) === letterE) return unusual;
      cells.put(cell, numberCell, at, end);
    }
    return end;
  }

  /** The end of a string, a number or a word that begins at `at`. */
  #valueEnd(at: number): number {
    if (this.#bytes[at] === quote) return this.#stringEnd();
    const end = numberEnd(this.#bytes, at);
    return end === at ? wordEnd(this.#bytes, at) : end;
  }

  /** The end of the string that begins at the next quote, behind its closing one. */
  #stringEnd(): number {
    const { usuals, specials } = this.#marks;
    const from = usuals[this.#quote] as number;
    while ((specials[this.#special] as number) < from) this.#special += 1;
    let to = usuals[++this.#quote] as number;
    this.#escaped = false;
    for (let at = specials[this.#special] as number; at < to; at = specials[++this.#special] as number) {
      const next = this.#bytes[at + 1] as number;
      if (this.#bytes[at] !== backslash) return unusual;
      if (next === letterU) {
        if (!this.#isHex(at + 2)) return unusual;
      } else if (escapes[next] === 0) return unusual;
      this.#escaped = true;
      // The escaped character may be a mark itself.
      if (next === quote) to = usuals[++this.#quote] as number;
      if (next === backslash) this.#special += 1;
    }
    this.#quote += 1;
    return to < this.#bytes.length ? to + 1 : unusual;
  }

  #isHex(from: number): boolean {
    return /^[\da-f]{4}$/i.test(textOf(this.#bytes, from, Math.min(from + 4, this.#bytes.length)));
  }

  #skipBlanks(from: number): number {
    let at = from;
    while (isBlank(this.#bytes[at])) at += 1;
    return at;
  }

  /** The start of the next line, if only blanks follow the object. */
  #lineEnd(from: number): number {
    const at = this.#skipBlanks(from);
    return this.#bytes[at] === lineFeed ? at + 1 : unusual;
  }
}
