import type { Condition, Literal, Operator } from "../language/parseFilter.ts";
import type { Columns } from "../measures/measure.ts";
import type { Field } from "../records.ts";

/** True, false, or undefined where it is unknown, as a comparison with an empty field is in SQL. */
export type Filter = (row: readonly Field[], place: number) => boolean | undefined;

/** Parts are looked at from left to right, and not at all once the answer is clear. */
export function compileFilter(condition: Condition, columns: Columns): Filter {
  switch (condition.kind) {
    case "and":
    case "or": {
      const parts = condition.parts.map((part) => compileFilter(part, columns));
      const decides = condition.kind === "or";
      return (row, place) => {
        let answer: boolean | undefined = !decides;
        for (const part of parts) {
          const one = part(row, place);
          if (one === decides) return decides;
          if (one === undefined) answer = undefined;
        }
        return answer;
      };
    }
    case "not": {
      const part = compileFilter(condition.part, columns);
      return (row, place) => {
        const answer = part(row, place);
        return answer === undefined ? undefined : !answer;
      };
    }
    case "empty": {
      const index = columns.place(condition.column);
      return (row) => row[index] === null;
    }
    case "compare":
      return comparing(condition.column, condition.operator, condition.literal, columns);
    case "in":
      return among(condition.column, condition.literals, columns);
  }
}

function comparing(column: string, operator: Operator, literal: Literal, columns: Columns): Filter {
  const holds = holdsOf[operator];
  if (typeof literal === "number") {
    const numbers = columns.numbers(column);
    return (_, place) => {
      const number = numbers.at(place);
      return Number.isNaN(number) ? undefined : holds(number, literal);
    };
  }
  const index = columns.place(column);
  return (row) => {
    const field = row[index] as Field;
    return field === null ? undefined : holds(typeof field === "string" ? field : String(field), literal);
  };
}

function among(column: string, literals: readonly Literal[], columns: Columns): Filter {
  const wanted = new Set(literals);
  if (typeof literals[0] === "number") {
    const numbers = columns.numbers(column);
    return (_, place) => {
      const number = numbers.at(place);
      return Number.isNaN(number) ? undefined : wanted.has(number);
    };
  }
  const index = columns.place(column);
  return (row) => {
    const field = row[index] as Field;
    return field === null ? undefined : wanted.has(typeof field === "string" ? field : String(field));
  };
}

/** Texts compare by UTF-16 code units. */
const holdsOf: Readonly<Record<Operator, <T extends Literal>(a: T, b: T) => boolean>> = {
  "=": (a, b) => a === b,
  "!=": (a, b) => a !== b,
  "<": (a, b) => a < b,
  "<=": (a, b) => a <= b,
  ">": (a, b) => a > b,
  ">=": (a, b) => a >= b,
};
