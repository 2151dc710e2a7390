import * as z from "zod";
import { CalculationError, messageOf } from "../model/errors.ts";
import { parseAggregates, parseColumns, parseTexts } from "./aggregate/language/aggregates.ts";
import { parseFilter } from "./aggregate/language/filter.ts";
import { mergePartials, type PartialBytes, readReport } from "./aggregate/partial/partial.ts";
import { queryFor, queryOf } from "./aggregate/query.ts";
import { planRanges } from "./aggregate/reading/planRanges.ts";
import { readShape } from "./aggregate/reading/readParams.ts";
import { readRange } from "./aggregate/reading/readRange.ts";
import type { RangeInput } from "./aggregate/records.ts";
import { foldRange } from "./aggregate/rows/foldRange.ts";
import { outputs, writeResult } from "./aggregate/writeResult.ts";
import { defineCalculation } from "./contract.ts";
import { shareOf } from "./timeChunks.ts";

/** A text of at most 4,000 characters that `parse` accepts. */
const parsed = (parse: (text: string) => unknown) =>
  z
    .string()
    .max(4000)
    .superRefine((text, context) => refuse(context, () => parse(text)));

function refuse(context: z.RefinementCtx, parse: () => unknown, path: string[] = []): void {
  try {
    parse();
  } catch (error) {
    context.addIssue({ code: "custom", path, message: messageOf(error) });
  }
}

const params = z
  .strictObject({
    ...readShape,
    by: parsed(parseColumns).default("").describe('key columns: year,"ship mode"; none gives one total'),
    aggregates: parsed(parseAggregates)
      .default("count")
      .describe(
        "count, count(c), sum(c), min(c), max(c), mean(c), variance(c), stddev(c), mintext(c), maxtext(c), " +
          "distinct(c), quantile(c,0.9), p50(c), top(c,5); each may have a name: sum(c) as total",
      ),
    where: parsed((text) => text.trim() === "" || parseFilter(text))
      .default("")
      .describe("rows to select: price >= 10 and not (shop in ('a', 'b') or note is null)"),
    nulls: parsed(parseTexts)
      .default("")
      .describe('texts that count as empty in CSV, separated by commas: NA,null,-,\\N,"a,b"'),
    badNumbers: z
      .enum(["fail", "skip"])
      .default("fail")
      .describe("a field that should be a number and is not: fail, or count it as empty and report it"),
    absentColumns: z
      .enum(["fail", "empty"])
      .default("fail")
      .describe("a column that no NDJSON record has: fail, or count it as empty and report it"),
    resultFormat: z
      .enum(outputs)
      .default("json")
      .describe("csv and ndjson hold the groups only, json a report too"),
  })
  // Only all texts together show two columns of one name.
  .superRefine((given, context) => refuse(context, () => queryOf(given), ["aggregates"]));
type Params = z.infer<typeof params>;

/**
 * Group-by over the records of many CSV or NDJSON files.
 *
 * Sums, means, variances and standard deviations are exact on the parsed doubles, then correctly rounded. `distinct` is
 * exact up to 512 values, then has a standard error of 1.6 %. Quantiles are less than 1/128 nearer to zero than the exact
 * ones. `top` counts exactly. No answer depends on how the files were cut and the partials folded.
 */
export const aggregate = defineCalculation<Params, RangeInput, PartialBytes>({
  name: "aggregate",
  version: "3",
  summary: "Groups the records of many CSV or NDJSON files and sums, counts and measures each group.",
  params,
  plan: (given, context) => planRanges(given, context, queryFor(given).wanted),
  async compute({ input, params: given, files }) {
    const query = queryFor(given);
    const folding = foldRange(query, given.badNumbers, input.file.path);
    return folding.done(await readRange(input, { params: given, files, wanted: query.wanted }, folding.add));
  },
  merge: (a, b, given) => mergePartials(a, b, queryFor(given).measures),
  zero(given) {
    const query = queryFor(given);
    return foldRange(query, given.badNumbers, "").done({ ...nothingRead, absent: query.wanted });
  },
  finish(partial, context) {
    const { params: given, folded, count } = context;
    // Chunks that were not folded may have the column.
    if (given.absentColumns === "fail" && folded === count) refuseAbsent(partial, given.source);
    return writeResult(queryFor(given), partial, given.resultFormat, shareOf(context));
  },
  codec: {
    contentType: "application/octet-stream",
    encode: (partial) => partial,
    decode: (bytes) => bytes,
  },
});

const nothingRead = { records: 0, bytes: 0, skipped: 0, offenders: [] };

/** Otherwise a misspelled name would silently give the sum of nothing. */
function refuseAbsent(partial: PartialBytes, source: string): void {
  const { records, absent } = readReport(partial);
  if (records === 0 || absent.length === 0) return;
  const names = absent.map((name) => JSON.stringify(name)).join(", ");
  throw new CalculationError(
    "no-column",
    `none of ${records} records under ${source} has ${names}; with --absent-columns empty that counts as empty`,
  );
}
