/**
 * Numbers that no double holds, so that 9007199254740993 and 9007199254740992, which have the same double, stay two
 * values: NDJSON keeps them as their text, `where` compares them exactly, and measures of numbers refuse them.
 */

/**
 * The whole number that a field has in digits, or with zeros behind a point, if it is not its nearest double `near`; else
 * `near`. A number is what it is written back as. One with an exponent is approximate: its double stands for it.
 */
export function exactOf(field: unknown, near: number): number | bigint {
  if (!(Math.abs(near) > Number.MAX_SAFE_INTEGER)) return near;
  const digits = /^\s*([-+]?\d+)(\.0*)?\s*$/.exec(String(field))?.[1];
  if (digits === undefined) return near;
  const exact = BigInt(digits);
  return exact === BigInt(near) ? near : exact;
}
