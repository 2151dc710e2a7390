/**
 * An array kept in order. Insertion moves memory instead of sorting again, which is the fastest simple way for
 * the few ten thousand entries of a simulated account.
 */
export interface SortedList<T> {
  readonly items: readonly T[];
  insert(item: T): void;
  /** Takes out the item that compares equal, if it is there. */
  remove(item: T): void;
  /** Index of the first item for which `isBefore` is false; the items must be partitioned by it. */
  firstNot(isBefore: (item: T) => boolean): number;
}

export function sortedList<T>(compare: (a: T, b: T) => number): SortedList<T> {
  const items: T[] = [];
  const firstNot = (isBefore: (item: T) => boolean): number => {
    let low = 0;
    let high = items.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (isBefore(items[middle] as T)) low = middle + 1;
      else high = middle;
    }
    return low;
  };
  return {
    items,
    firstNot,
    insert: (item) => {
      items.splice(
        firstNot((other) => compare(other, item) < 0),
        0,
        item,
      );
    },
    remove: (item) => {
      const index = firstNot((other) => compare(other, item) < 0);
      const found = items[index];
      if (found !== undefined && compare(found, item) === 0) items.splice(index, 1);
    },
  };
}
