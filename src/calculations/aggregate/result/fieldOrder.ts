import type { Field } from "../records.ts";
import { numberOf } from "../rows/numberColumn.ts";

/** A field with what its place in the order depends on. */
export interface Placed {
  readonly field: Field;
  readonly kind: number;
  readonly number: number;
  readonly text: string;
}

/**
 * The order of the result: nothing first, then numbers by value (in CSV every field that reads as one), false, true,
 * then other text by code points. No two different fields are equal in it: `1` comes before `1.0`.
 */
export function compareFields(a: Placed, b: Placed): number {
  const byNumber = a.kind === kinds.number ? a.number - b.number : 0;
  return a.kind - b.kind || byNumber || compareText(a.text, b.text) || rankOf(a.field) - rankOf(b.field);
}

const rankOf = (field: Field): number => (typeof field === "number" ? 0 : 1);

const kinds = { nothing: 0, number: 1, false: 2, true: 3, text: 4 } as const;

export function placed(field: Field): Placed {
  const text = field === null ? "" : String(field);
  if (field === null) return { field, kind: kinds.nothing, number: 0, text };
  if (typeof field === "boolean") return { field, kind: field ? kinds.true : kinds.false, number: 0, text };
  const number = numberOf(field);
  return { field, kind: Number.isNaN(number) ? kinds.text : kinds.number, number, text };
}

/** By code points, the order of UTF-8; UTF-16 has the first 2,048 units of its last 10,240 for larger ones. */
function compareText(a: string, b: string): number {
  const shorter = Math.min(a.length, b.length);
  for (let i = 0; i < shorter; i++) {
    const [left, right] = [a.charCodeAt(i), b.charCodeAt(i)];
    if (left !== right) return inOrder(left) - inOrder(right);
  }
  return a.length - b.length;
}

const inOrder = (unit: number): number =>
  unit < 0xd800 ? unit : unit < 0xe000 ? unit + 0x2000 : unit - 0x800;
