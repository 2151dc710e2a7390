import { CalculationError } from "../../../model/errors.ts";
import { aggregateLimits } from "../limits.ts";
import { type Incidents, incidents } from "../partial/report.ts";
import type { Offender, RecordBatch } from "../records.ts";

/** Fields that should be numbers and are none, in the order of the file however it is cut into batches. */
export interface BadNumbers {
  found(place: number, column: number): void;
  /** Under the policy `fail` throws `CalculationError` `bad-number` for the first of the batch. */
  endBatch(batch: RecordBatch): void;
  incidents(): Incidents;
}

export function badNumbers(path: string, columns: readonly string[], policy: "fail" | "skip"): BadNumbers {
  const first: Offender[] = [];
  let count = 0;
  /** Place and column of each in this batch; columns are read one after the other. */
  let found: { place: number; column: number }[] = [];
  const offenderOf = (
    batch: RecordBatch,
    { place, column }: { place: number; column: number },
  ): Offender => ({
    path,
    offset: batch.offsetOf(place),
    what: `${columns[column]} is ${JSON.stringify(batch.rows[place]?.[column])}`,
  });
  return {
    found(place, column) {
      found.push({ place, column });
    },
    endBatch(batch) {
      if (found.length === 0) return;
      count += found.length;
      found.sort((a, b) => a.place - b.place || a.column - b.column);
      const wanted = found.slice(0, aggregateLimits.offendersMax - first.length);
      if (first.length < aggregateLimits.offendersMax)
        first.push(...wanted.map((one) => offenderOf(batch, one)));
      found = [];
      const worst = first[0];
      if (policy === "skip" || worst === undefined) return;
      throw new CalculationError(
        "bad-number",
        `${worst.path}, record at byte ${worst.offset}: ${worst.what}, which is no number; ` +
          "badNumbers=skip counts such fields as empty; mintext, maxtext and literals in 'quotes' compare text",
      );
    },
    incidents: () => incidents(count, first),
  };
}
