import { pMapIterable } from "p-map";
import { CalculationError } from "../../../model/errors.ts";
import type { PlanContext } from "../../contract.ts";
import { aggregateLimits } from "../limits.ts";
import type { RangeInput } from "../records.ts";
import { type Opening, openFile, openQuickly } from "./openFile.ts";
import { inTime } from "./planBudget.ts";
import type { ReadParams } from "./readParams.ts";
import { bordersOf, type Section, scannedBorders, sectionsOf } from "./sections.ts";

const { headsAtOnce, longHeadsAtOnce, looksAtOnce } = aggregateLimits;

/**
 * Cuts the files of a source into ranges, in order of their names; files without a record have none. From the middle of a
 * CSV file nobody can tell a line break within quotes from one without. So, unless `quotedNewlines` is false, the bytes
 * that follow each border are read until the quotes tell. Throws `CalculationError` if a CSV file lacks a wanted column, or
 * if the plan takes longer than it may.
 */
export const planRanges = (
  params: ReadParams,
  { files, time }: PlanContext,
  wanted: readonly string[],
): AsyncGenerator<RangeInput> => inTime({ params, files, wanted, time }, rangesOf);

async function* rangesOf(opening: Opening): AsyncGenerator<RangeInput> {
  const { params, files } = opening;
  let none = true;
  const quick = pMapIterable(files.list(params.source), (file) => openQuickly(file, opening), {
    concurrency: headsAtOnce,
  });
  const opened = pMapIterable(
    quick,
    (one) => (one === undefined || "file" in one ? one : openFile(one, opening)),
    { concurrency: longHeadsAtOnce, backpressure: headsAtOnce },
  );
  async function* sections(): AsyncGenerator<Section> {
    for await (const file of opened) {
      none = false;
      if (file !== undefined) yield* sectionsOf(file, params);
    }
  }
  const found = pMapIterable(
    sections(),
    async (section) => ({ section, borders: await bordersOf(section, files) }),
    { concurrency: looksAtOnce, backpressure: 4 * looksAtOnce },
  );
  let from = 0;
  for await (const { section, borders } of found) {
    const { file, format, ...rest } = section.opened;
    const range = (to: number): RangeInput => ({ file, from, to, ...rest });
    if (section.from === rest.first) from = rest.first;
    for (const to of borders ?? (await scannedBorders(section, from, files))) {
      if (to <= from || to >= file.bytes) continue;
      yield range(to);
      from = to;
    }
    if (format.gzip) yield range(Number.MAX_SAFE_INTEGER);
    else if (section.last && (from < file.bytes || from === rest.first)) yield range(file.bytes);
  }
  if (none) {
    const message = `no file begins with ${params.source}; "leasefold upload" prints the source of what it uploaded`;
    throw new CalculationError("empty-source", message);
  }
}
