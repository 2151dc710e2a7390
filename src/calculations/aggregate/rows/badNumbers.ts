import { CalculationError } from "../../../model/errors.ts";
import { aggregateLimits } from "../limits.ts";
import { type Incidents, incidents } from "../partial/report.ts";
import type { Field, Offender, RecordBatch } from "../records.ts";
import { quotedCell, shapeOf } from "./cellText.ts";

/** Fields that should be numbers and are none, in the order of the file however it is cut into batches. */
export interface BadNumbers {
  found(place: number, column: number): void;
  /** Under the policy `fail` throws `CalculationError` `bad-number` for the first of the batch. */
  endBatch(batch: RecordBatch): void;
  incidents(): Incidents;
}

interface Found {
  readonly place: number;
  readonly column: number;
}

const cellOf = (batch: RecordBatch, { place, column }: Found): Field => batch.rows[place]?.[column] ?? null;

export function badNumbers(path: string, columns: readonly string[], policy: "fail" | "skip"): BadNumbers {
  const first: Offender[] = [];
  let count = 0;
  /** Place and column of each in this batch; columns are read one after the other. */
  let found: Found[] = [];
  const offenderOf = (batch: RecordBatch, { place, column }: Found): Offender => ({
    path,
    offset: batch.offsetOf(place),
    what: `${columns[column]} is ${quotedCell(cellOf(batch, { place, column }))}`,
  });
  const refused = (batch: RecordBatch, { place, column }: Found): CalculationError =>
    new CalculationError(
      "bad-number",
      `${path}, record at byte ${batch.offsetOf(place)}: ${columns[column]} is ` +
        `${shapeOf(cellOf(batch, { place, column }))} (a: a letter, 9: a digit), which is no number; ` +
        "badNumbers=skip counts such fields as empty and shows the first; mintext, maxtext and literals in 'quotes' compare text",
    );
  return {
    found(place, column) {
      found.push({ place, column });
    },
    endBatch(batch) {
      if (found.length === 0) return;
      count += found.length;
      found.sort((a, b) => a.place - b.place || a.column - b.column);
      const worst = found[0];
      if (policy === "fail" && worst !== undefined) throw refused(batch, worst);
      const wanted = found.slice(0, aggregateLimits.offendersMax - first.length);
      if (first.length < aggregateLimits.offendersMax)
        first.push(...wanted.map((one) => offenderOf(batch, one)));
      found = [];
    },
    incidents: () => incidents(count, first),
  };
}
