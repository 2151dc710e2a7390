import { CalculationError } from "../../../model/errors.ts";
import type { JsonValue } from "../../contract.ts";
import { type PartialBytes, readGroups } from "../partial/partial.ts";
import type { Query } from "../query.ts";
import { compareFields, placed } from "./fieldOrder.ts";

/** One group of the result: its key, then what was asked. */
export type ResultRow = readonly JsonValue[];

/** In the order of their keys. Throws `CalculationError` `number-overflow` for a number beyond the range of doubles. */
export function resultRows(query: Query, partial: PartialBytes): ResultRow[] {
  const rows = [];
  for (const { key, states } of readGroups(partial, query.measures)) {
    const answers = query.answers.map(({ name, of }) => {
      const answer = of(states);
      if (typeof answer !== "number" || Number.isFinite(answer)) return answer;
      throw new CalculationError(
        "number-overflow",
        `${name} of a group is beyond the range of double numbers; leave it out, or its rows with --where`,
      );
    });
    rows.push({ key: key.map(placed), row: [...key, ...answers] });
  }
  rows.sort((a, b) => {
    for (const [at, left] of a.key.entries()) {
      const order = compareFields(left, b.key[at] ?? left);
      if (order !== 0) return order;
    }
    return 0;
  });
  return rows.map(({ row }) => row);
}
