/** Completes a board row by row; `free` has a bit for each column that no queen attacks. */
export function count(full: u32, columns: u32, left: u32, right: u32): u32 {
  if (columns == full) return 1;
  let solutions: u32 = 0;
  for (let free = full & ~(columns | left | right); free != 0; free &= free - 1) {
    const queen = free & (0 - free);
    solutions += count(full, columns | queen, (left | queen) << 1, (right | queen) >> 1);
  }
  return solutions;
}
