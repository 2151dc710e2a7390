import { aggregateLimits } from "../limits.ts";
import { detached, type Meter } from "../measures/measure.ts";
import { tooManyGroups } from "../partial/partial.ts";
import type { Field, Row } from "../records.ts";

/** The field that is kept as a key; zero loses its sign, as in a map. */
const ownField = (field: Field): Field =>
  typeof field === "string" ? detached(field) : typeof field === "number" ? field + 0 : field;

/** A quarter of what a short key takes in memory. */
const keyBytes = 30;

/** Factor by which a group's number and a field's number are combined into one. */
const idsMax = 2 ** 18;

/**
 * Numbers the groups of a chunk in the order in which they appear, by numbering the fields of each key column. The number of a group of several columns is found by the number of its first
 * columns and the number of its next field, so no texts are joined, and 1 and "1" stay two keys.
 */
export function groupIds(keyIndexes: readonly number[], meter: Meter) {
  const keys: Row[] = keyIndexes.length === 0 ? [[]] : [];
  const levels = keyIndexes.map(() => ({
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
  const idIn = (row: Row, level: Level, depth: number): number =>
    idOf(level, row[keyIndexes[depth] as number] as Field);
  const addGroup = (row: Row): void => {
    if (keys.length === aggregateLimits.groupsMax) throw tooManyGroups();
    const key = levels.map((level, depth) => level.fields[idIn(row, level, depth)] as Field);
    keys.push(key);
    for (const field of key) meter(keyBytes + (typeof field === "string" ? field.length : 0));
  };

  return {
    /** Throws `CalculationError` `too-many-groups` before memory runs out. */
    of(row: Row): number {
      let group = 0;
      for (let depth = 0; depth < levels.length; depth++) {
        const level = levels[depth] as Level;
        const id = idIn(row, level, depth);
        const last = depth === levels.length - 1;
        if (depth === 0) {
          group = id;
          if (last && id === keys.length) addGroup(row);
          continue;
        }
        const path = group * idsMax + id;
        let next = level.groups.get(path);
        if (next === undefined) {
          next = level.groups.size;
          level.groups.set(path, next);
          if (last) addGroup(row);
        }
        group = next;
      }
      return group;
    },
    get size() {
      return keys.length;
    },
    key: (group: number) => keys[group] as Row,
  };
}
