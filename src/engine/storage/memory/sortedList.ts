/**
 * Items in order, in pieces of a few hundred: an insertion moves the memory of one piece and not of the whole list, so
 * that a million blobs of a simulated account stay cheap.
 */
export interface SortedList<T> {
  insert(item: T): void;
  /** Removes the item that compares equal, if there is one. */
  remove(item: T): void;
  /**
   * The items in order, from the first for which `isBefore` is false; the list must be partitioned by it, and must not
   * change during the iteration.
   */
  from(isBefore: (item: T) => boolean): Iterable<T>;
}

const pieceMax = 512;

export function sortedList<T>(compare: (a: T, b: T) => number): SortedList<T> {
  /** None of them is empty. */
  const pieces: T[][] = [];
  const pieceFor = (isBefore: (item: T) => boolean): number =>
    firstNot(pieces, (piece) => isBefore(piece[piece.length - 1] as T));

  return {
    insert: (item) => {
      const isBefore = (other: T) => compare(other, item) < 0;
      // Past the end of every piece it lengthens the last.
      const at = Math.min(pieceFor(isBefore), pieces.length - 1);
      const piece = pieces[at];
      if (piece === undefined) {
        pieces.push([item]);
        return;
      }
      piece.splice(firstNot(piece, isBefore), 0, item);
      if (piece.length > pieceMax) pieces.splice(at + 1, 0, piece.splice(pieceMax / 2));
    },

    remove: (item) => {
      const isBefore = (other: T) => compare(other, item) < 0;
      const at = pieceFor(isBefore);
      const piece = pieces[at];
      if (piece === undefined) return;
      const index = firstNot(piece, isBefore);
      if (compare(piece[index] as T, item) !== 0) return;
      piece.splice(index, 1);
      if (piece.length === 0) pieces.splice(at, 1);
    },

    *from(isBefore) {
      const first = pieceFor(isBefore);
      for (let at = first; at < pieces.length; at += 1) {
        const piece = pieces[at] as T[];
        const begin = at === first ? firstNot(piece, isBefore) : 0;
        for (let index = begin; index < piece.length; index += 1) yield piece[index] as T;
      }
    },
  };
}

/** Index of the first item for which `isBefore` is false; the items must be partitioned by it. */
function firstNot<T>(items: readonly T[], isBefore: (item: T) => boolean): number {
  let low = 0;
  let high = items.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (isBefore(items[middle] as T)) low = middle + 1;
    else high = middle;
  }
  return low;
}
