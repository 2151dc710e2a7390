import { Cells } from "../../src/calculations/aggregate/cells/cells.ts";
import type { Condition } from "../../src/calculations/aggregate/language/filter.ts";
import type { Columns, NumberColumn, Selection } from "../../src/calculations/aggregate/measures/measure.ts";
import {
  incidents,
  keyBytes,
  type PartialBytes,
  partialWriter,
} from "../../src/calculations/aggregate/partial/partial.ts";
import type { Query } from "../../src/calculations/aggregate/query.ts";
import type { Field } from "../../src/calculations/aggregate/records.ts";

/** The folding of csvBefore.ts: rows of fields, groups found by maps, and numbers read from texts. */
export function rowFolding({ wanted, keys, where, measures }: Query) {
  const cells = new RowCells(wanted.length);
  const numbers = new Map<string, RowNumbers>();
  const columns: Columns = {
    indexOf: (column) => wanted.indexOf(column),
    numbers(column) {
      const known = numbers.get(column) ?? new RowNumbers(cells, wanted.indexOf(column));
      numbers.set(column, known);
      return known;
    },
  };
  const groups = groupMaps(keys.map(columns.indexOf));
  const isSelected = textTest(where, wanted);
  const accumulators = measures.map((measure) => ({
    measure,
    accumulator: measure.start(columns, () => {}),
  }));
  let index = new Int32Array(0);
  let group = new Int32Array(0);
  let selected = 0;
  return {
    add(rows: readonly Field[][]): void {
      cells.set(rows);
      if (index.length < rows.length) {
        index = new Int32Array(rows.length);
        group = new Int32Array(rows.length);
      }
      for (const column of numbers.values()) column.begin();
      let count = 0;
      for (let row = 0; row < rows.length; row++) {
        const fields = rows[row] as Field[];
        if (!isSelected(fields)) continue;
        index[count] = row;
        group[count++] = groups.of(fields);
      }
      selected += count;
      for (const { accumulator } of accumulators)
        accumulator.add({ cells, count, index, group }, groups.keys.length);
    },
    done(records: number): PartialBytes {
      const inOrder = groups.keys.map((key, id) => ({ id, key: keyBytes(key) }));
      inOrder.sort((a, b) => Buffer.compare(a.key, b.key));
      const none = incidents(0, []);
      const out = partialWriter({ records, bytes: 0, selected, skipped: none, badNumbers: none, absent: [] });
      for (const { id, key } of inOrder) {
        out.group(key, (states) => {
          for (const { measure, accumulator } of accumulators) measure.write(accumulator.state(id), states);
        });
      }
      return out.done();
    },
  };
}

/** Rows for measures that read cells. All are values, since the bench has no empty field. */
class RowCells extends Cells {
  #fields: readonly Field[][] = [];

  set(rows: readonly Field[][]): void {
    this.#fields = rows;
    this.rows = rows.length;
    if (this.kinds.length < rows.length * this.width)
      this.kinds = new Uint8Array(rows.length * this.width).fill(3);
  }

  override field(row: number, column: number): Field {
    return (this.#fields[row] as Field[])[column] as Field;
  }
}

/** `shipdate <= '1998-09-02'` is all that the bench asks. */
function textTest(
  where: Condition | undefined,
  wanted: readonly string[],
): (fields: readonly Field[]) => boolean {
  if (where?.kind !== "compare" || where.operator !== "<=")
    throw new Error("the query has another condition");
  const { column, literal } = where;
  const place = wanted.indexOf(column);
  return (fields) => String(fields[place]) <= String(literal);
}

/** The number of a group of several columns is found by that of its first columns and that of its next field. */
function groupMaps(places: readonly number[]) {
  const keys: Field[][] = [];
  const levels = places.map(() => ({ ids: new Map<Field, number>(), groups: new Map<number, number>() }));
  return {
    keys,
    of(fields: readonly Field[]): number {
      let group = 0;
      for (let depth = 0; depth < levels.length; depth++) {
        const { ids, groups } = levels[depth] as (typeof levels)[number];
        const field = fields[places[depth] as number] as Field;
        let id = ids.get(field);
        if (id === undefined) {
          id = ids.size;
          ids.set(Buffer.from(String(field)).toString(), id);
        }
        const path = group * 2 ** 18 + id;
        let next = groups.get(path);
        if (next === undefined) {
          next = groups.size;
          groups.set(path, next);
          if (depth === levels.length - 1) keys.push(places.map((place) => fields[place] as Field));
        }
        group = next;
      }
      return group;
    },
  };
}

/** A column as numbers, each parsed when it is first needed. */
class RowNumbers implements NumberColumn {
  readonly #cells: RowCells;
  readonly #column: number;
  #values = new Float64Array(0);
  #isRead = false;

  constructor(cells: RowCells, column: number) {
    this.#cells = cells;
    this.#column = column;
  }

  begin(): void {
    if (this.#values.length < this.#cells.rows) this.#values = new Float64Array(this.#cells.rows);
    this.#isRead = false;
  }

  of({ count, index }: Selection): Float64Array {
    for (let i = 0; i < count && !this.#isRead; i++) this.#values[i] = this.exact(index[i] as number);
    this.#isRead = true;
    return this.#values;
  }

  exact(row: number): number {
    const field = this.#cells.field(row, this.#column);
    return typeof field === "string" ? plainDecimal(field) : (field as number);
  }
}

/** Of at most 16 characters, which all numbers of the bench have. */
function plainDecimal(text: string): number {
  let digits = 0;
  let point = -1;
  for (let at = 0; at < text.length; at++) {
    const digit = text.charCodeAt(at) - 48;
    if (digit >= 0 && digit <= 9) digits = digits * 10 + digit;
    else if (digit === -2 && point < 0 && at > 0) point = at;
    else throw new Error(`${text} is no plain decimal`);
  }
  const decimals = point < 0 ? 0 : text.length - 1 - point;
  return decimals === 0 ? digits : digits / (powersOfTen[decimals] as number);
}

const powersOfTen = Array.from({ length: 16 }, (_, power) => 10 ** power);
