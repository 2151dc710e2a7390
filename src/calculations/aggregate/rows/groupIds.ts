import { type Cells, textCell } from "../cells/cells.ts";
import { TextIds, utf8 } from "../cells/textIds.ts";
import { aggregateLimits } from "../limits.ts";
import { detached, type Meter } from "../measures/measure.ts";
import { tooManyGroups } from "../partial/partial.ts";
import type { Field } from "../records.ts";

/** A quarter of what a short key takes in memory. */
const keyBytes = 30;

/**
 * Numbers the groups of a chunk in the order in which they appear, by numbering the fields of each key column. The number
 * of a group of several columns is that of a pair: the number of its first columns and the number of its next field. So
 * no texts are joined, and 1 and "1" stay two keys.
 */
export function groupIds(columns: readonly number[], meter: Meter) {
  const keys: (readonly Field[])[] = columns.length === 0 ? [[]] : [];
  const levels = columns.map((column) => ({ column, ids: new FieldIds(), pairs: new PairIds() }));
  const addGroup = (cells: Cells, row: number): void => {
    if (keys.length === aggregateLimits.groupsMax) throw tooManyGroups();
    const key = levels.map(({ column, ids }) => ids.fieldOf(ids.idOf(cells, row, column)));
    keys.push(key);
    for (const field of key) meter(keyBytes + (typeof field === "string" ? field.length : 0));
  };

  return {
    /** Throws `CalculationError` `too-many-groups` before memory runs out. */
    of(cells: Cells, row: number): number {
      let group = 0;
      for (let depth = 0; depth < levels.length; depth++) {
        const { column, ids, pairs } = levels[depth] as (typeof levels)[number];
        const id = ids.idOf(cells, row, column);
        group = pairs.idOf(group, id);
      }
      if (group === keys.length) addGroup(cells, row);
      return group;
    },
    get size() {
      return keys.length;
    },
    key: (group: number) => keys[group] as readonly Field[],
  };
}

/** Numbers the fields of a column: texts by their bytes, and numbers, truth values and nothing in a map. */
class FieldIds {
  readonly #texts = new TextIds();
  readonly #others = new Map<Field, number>();
  /** By number; one of a text is even, and any other is odd. */
  readonly #fields: { readonly text: Field[]; readonly other: Field[] } = { text: [], other: [] };

  idOf(cells: Cells, row: number, column: number): number {
    const cell = row * cells.width + column;
    if (cells.kinds[cell] !== textCell) return this.#idOfField(cells.field(row, column));
    const id = this.#texts.idOf(cells.bytes, cells.starts[cell] as number, cells.ends[cell] as number);
    const { text } = this.#fields;
    if (id === text.length) text.push(detached(cells.field(row, column) as string));
    return id * 2;
  }

  fieldOf(id: number): Field {
    const { text, other } = this.#fields;
    return (id % 2 === 0 ? text[id / 2] : other[(id - 1) / 2]) as Field;
  }

  #idOfField(field: Field): number {
    if (typeof field === "string") {
      utf8.write(field);
      const id = this.#texts.idOf(utf8.bytes, 0, utf8.length);
      if (id === this.#fields.text.length) this.#fields.text.push(detached(field));
      return id * 2;
    }
    const known = this.#others.get(field);
    if (known !== undefined) return known;
    const { other } = this.#fields;
    const id = other.length * 2 + 1;
    // Zero loses its sign, as in a map.
    other.push(typeof field === "number" ? field + 0 : field);
    this.#others.set(field, id);
    return id;
  }
}

/** Numbers pairs of whole numbers in the order in which they first appear, in an open-addressing table at most half full. */
export class PairIds {
  #slots = new Int32Array(32);
  #lefts = new Int32Array(16);
  #rights = new Int32Array(16);
  size = 0;

  idOf(left: number, right: number): number {
    const mask = this.#slots.length - 1;
    let slot = hashOf(left, right) & mask;
    for (; this.#slots[slot] !== 0; slot = (slot + 1) & mask) {
      const id = (this.#slots[slot] as number) - 1;
      if (this.#lefts[id] === left && this.#rights[id] === right) return id;
    }
    if (this.size * 2 === this.#slots.length) {
      this.#grow();
      return this.idOf(left, right);
    }
    const id = this.size++;
    this.#slots[slot] = id + 1;
    this.#lefts[id] = left;
    this.#rights[id] = right;
    return id;
  }

  #grow(): void {
    const known = this.size;
    this.#slots = new Int32Array(known * 4);
    this.#lefts = new Int32Array(this.#lefts.buffer.transfer(known * 8));
    this.#rights = new Int32Array(this.#rights.buffer.transfer(known * 8));
    this.size = 0;
    for (let id = 0; id < known; id++) this.idOf(this.#lefts[id] as number, this.#rights[id] as number);
  }
}

function hashOf(left: number, right: number): number {
  const hash = Math.imul(Math.imul(left, 0x9e3779b1) ^ right, 0x85ebca6b);
  return hash ^ (hash >>> 15);
}
