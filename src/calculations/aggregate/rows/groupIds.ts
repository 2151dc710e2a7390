import { aggregateLimits } from "../limits.ts";
import { detached, type Meter } from "../measures/measure.ts";
import { tooManyGroups } from "../partial/report.ts";
import type { Field } from "../records.ts";

/** Numbers the groups of a chunk in the order in which they are met. */
export interface GroupIds {
  /** Throws `CalculationError` `too-many-groups` before memory runs out. */
  of(row: readonly Field[]): number;
  readonly size: number;
  key(group: number): readonly Field[];
}

/** What is kept of a field; zero has no sign, as a map has it. */
const ownField = (field: Field): Field =>
  typeof field === "string" ? detached(field) : typeof field === "number" ? field + 0 : field;

/** A quarter of what a short key takes in memory. */
const keyBytes = 30;

/** A field's number and a group's fit into one number together. */
const idsMax = 2 ** 18;

/**
 * Each column's fields are numbered; the number of a group of several columns is found by that of its first columns
 * and that of its next field. So no texts are joined, and 1 and "1" stay two keys.
 */
export function groupIds(keyPlaces: readonly number[], meter: Meter): GroupIds {
  const keys: (readonly Field[])[] = keyPlaces.length === 0 ? [[]] : [];
  const levels = keyPlaces.map(() => ({
    ids: new Map<Field, number>(),
    fields: [] as Field[],
    groups: new Map<number, number>(),
  }));
  type Level = (typeof levels)[number];

  const idOf = (level: Level, field: Field): number => {
    const known = level.ids.get(field);
    if (known !== undefined) return known;
    const own = ownField(field);
    const same = level.ids.get(own);
    if (same !== undefined) return same;
    const id = level.fields.length;
    level.ids.set(own, id);
    level.fields.push(own);
    return id;
  };
  const keyOf = (row: readonly Field[]): readonly Field[] =>
    levels.map(
      (level, depth) => level.fields[idOf(level, row[keyPlaces[depth] as number] as Field)] as Field,
    );
  const begin = (row: readonly Field[]): void => {
    if (keys.length === aggregateLimits.groupsMax) throw tooManyGroups();
    const key = keyOf(row);
    keys.push(key);
    for (const field of key) meter(keyBytes + (typeof field === "string" ? field.length : 0));
  };

  return {
    of(row) {
      let group = 0;
      for (let depth = 0; depth < levels.length; depth++) {
        const level = levels[depth] as Level;
        const id = idOf(level, row[keyPlaces[depth] as number] as Field);
        const last = depth === levels.length - 1;
        if (depth === 0) {
          group = id;
          if (last && id === keys.length) begin(row);
          continue;
        }
        const path = group * idsMax + id;
        let next = level.groups.get(path);
        if (next === undefined) {
          next = level.groups.size;
          level.groups.set(path, next);
          if (last) begin(row);
        }
        group = next;
      }
      return group;
    },
    get size() {
      return keys.length;
    },
    key: (group) => keys[group] as readonly Field[],
  };
}
