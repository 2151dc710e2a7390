import * as z from "zod";
import { planRanges } from "../../../../src/calculations/aggregate/reading/planRanges.ts";
import { type ReadParams, readShape } from "../../../../src/calculations/aggregate/reading/readParams.ts";
import { readRange } from "../../../../src/calculations/aggregate/reading/readRange.ts";
import type { Field, RangeInput, ReadReport } from "../../../../src/calculations/aggregate/records.ts";
import type { Files } from "../../../../src/calculations/files.ts";

/** Parameters as the schema gives them; `chunkBytes` may be below its minimum, so that small texts have many ranges. */
export const readParams = (given: Partial<ReadParams> = {}): ReadParams => ({
  ...z.object(readShape).parse({ source: "data/" }),
  ...given,
});

export async function plan(
  params: ReadParams,
  files: Files,
  wanted: readonly string[] = [],
): Promise<RangeInput[]> {
  const ranges: RangeInput[] = [];
  for await (const range of planRanges(params, { files }, wanted)) ranges.push(range);
  return ranges;
}

export interface ReadAll {
  readonly rows: Field[][];
  /** Of the first rows of each batch, where they begin. */
  readonly offsets: number[];
  readonly reports: ReadReport[];
  readonly ranges: RangeInput[];
}

/** Each takes a scan of its batch. */
const offsetsPerBatch = 20;

/** Plans and reads everything, one range after the other. */
export async function readAll(
  files: Files,
  wanted: readonly string[],
  given: Partial<ReadParams> = {},
): Promise<ReadAll> {
  const params = readParams(given);
  const ranges = await plan(params, files, wanted);
  const rows: Field[][] = [];
  const offsets: number[] = [];
  const reports: ReadReport[] = [];
  for (const range of ranges) {
    const report = await readRange(range, { params, files, wanted }, (batch) => {
      for (const [index, row] of batch.rows.entries()) {
        rows.push([...row]);
        if (index < offsetsPerBatch) offsets.push(batch.offsetOf(index));
      }
    });
    reports.push(report);
  }
  return { rows, offsets, reports, ranges };
}
