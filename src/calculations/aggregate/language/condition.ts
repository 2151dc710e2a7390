/** A filter as it was written. */
export type Condition =
  | { readonly kind: "and" | "or"; readonly parts: readonly Condition[] }
  | { readonly kind: "not"; readonly part: Condition }
  | { readonly kind: "empty"; readonly column: string }
  | {
      readonly kind: "compare";
      readonly column: string;
      readonly operator: Operator;
      readonly literal: Literal;
    }
  | { readonly kind: "in"; readonly column: string; readonly literals: readonly Literal[] };

export type Operator = "=" | "!=" | "<" | "<=" | ">" | ">=";

/** A number compares as a number, anything else as text. */
export type Literal = number | string;

export function columnsOf(condition: Condition): string[] {
  if ("parts" in condition) return condition.parts.flatMap(columnsOf);
  return "part" in condition ? columnsOf(condition.part) : [condition.column];
}
