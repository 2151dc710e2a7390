/** The layout of memory; ../reading/cutKernel.ts reads and writes at the exported addresses. Behind it are table and block. */

/** Cells of the rows that one call cuts at most. */
export const cellsMax: i32 = 8 * 1024;

/** What each cell holds, as in ../cells/cells.ts, and that which JavaScript has to read. */
export const kinds: usize = memory.data(cellsMax, 16);
export const textCell: u8 = 1;
export const numberCell: u8 = 2;
export const rawCell: u8 = 4;
/** Where the bytes of each cell begin and end in the block. */
export const starts: usize = memory.data(cellsMax * 4, 16);
export const ends: usize = memory.data(cellsMax * 4, 16);
/** The number of each cell if it is a short decimal, else NaN. */
export const numbers: usize = memory.data(cellsMax * 8, 16);
/** By row: where its record begins in the block. */
export const records: usize = memory.data(cellsMax * 4, 16);

/** How to cut: cells of a row, and rows at most; of CSV also fields of a record and the delimiter. */
export const task: usize = memory.data(4 * 4, 16);
/** What was cut: rows, raw cells, and fields of the last record if it does not fit or 1 if it is unusual, else 0. */
export const found: usize = memory.data(3 * 4, 16);
/** By place: whether a line so far had the wanted name. JavaScript clears it. */
export const present: usize = memory.data(cellsMax, 16);

/** Whether a line has had the name, by place, and the names of the line before: see objects.ts. */
export const seen: usize = memory.data(cellsMax, 16);
export const shapeBytes: i32 = 256 * 12;
export const shape: usize = memory.data(shapeBytes, 16);

/** What the caller knows of the columns; the block lies behind it, with 64 bytes to spare. */
export const table: usize = (__heap_base + 15) & ~15;

/** Puts a cell that is `[from, to)`. */
// @ts-ignore: decorator
@inline
export function putCell(cell: i32, block: usize, from: usize, to: usize): void {
  store<i32>(starts + (cell << 2), (from - block) as i32);
  store<i32>(ends + (cell << 2), (to - block) as i32);
}
