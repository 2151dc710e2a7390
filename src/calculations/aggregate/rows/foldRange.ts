import { Cells } from "../cells/cells.ts";
import { compileFilter } from "../language/filter.ts";
import { aggregateLimits } from "../limits.ts";
import type { Columns, Meter } from "../measures/measure.ts";
import { incidents, keyBytes, type PartialBytes, partialWriter, tooManyBytes } from "../partial/partial.ts";
import type { Query } from "../query.ts";
import type { ReadReport } from "../records.ts";
import { groupIds } from "./groupIds.ts";
import { numberColumns } from "./numberColumns.ts";

/**
 * Folds the rows of one chunk. `path` is for messages. `add` throws `CalculationError` for a bad number under the policy `fail`, and for more groups
 * than the limit.
 */
export function foldRange(query: Query, policy: "fail" | "skip", path: string) {
  const { wanted, keys, where, measures } = query;
  const numbers = numberColumns(path, wanted, policy);
  const columns: Columns = {
    indexOf: (column) => wanted.indexOf(column),
    numbers: (column) => numbers.column(wanted.indexOf(column)),
  };
  let meteredBytes = 0;
  const meter: Meter = (more) => {
    meteredBytes += more;
    if (meteredBytes > aggregateLimits.partialBytesMax) throw tooManyBytes(groups.size);
  };
  const groups = groupIds(keys.map(columns.indexOf), meter);
  const filter = where === undefined ? undefined : compileFilter(where, columns);
  const accumulators = measures.map((measure) => ({ measure, accumulator: measure.start(columns, meter) }));

  let index = new Int32Array(0);
  let group = new Int32Array(0);
  let selected = 0;
  const fold = (cells: Cells): void => {
    const { rows } = cells;
    if (index.length < rows) {
      index = new Int32Array(rows);
      group = new Int32Array(rows);
    }
    numbers.begin(cells);
    let count = 0;
    for (let row = 0; row < rows; row++) {
      if (filter !== undefined && filter(cells, row) !== true) continue;
      index[count] = row;
      group[count++] = groups.of(cells, row);
    }
    selected += count;
    for (const { accumulator } of accumulators) accumulator.add({ cells, count, index, group }, groups.size);
  };

  return {
    add(batch: Cells): void {
      fold(batch);
      numbers.end(batch);
    },
    /** Returns the partial; consumes the folding. */
    done({ records, bytes, skipped, offenders, absent }: ReadReport): PartialBytes {
      // The total of no rows has states too.
      fold(new Cells(wanted.length));
      const inOrder = Array.from({ length: groups.size }, (_, id) => ({ id, key: keyBytes(groups.key(id)) }));
      inOrder.sort((a, b) => Buffer.compare(a.key, b.key));
      const badNumbers = numbers.incidents();
      const out = partialWriter({
        ...{ records, bytes, selected },
        skipped: incidents(skipped, offenders),
        ...{ badNumbers, absent },
      });
      for (const { id, key } of inOrder) {
        out.group(key, (states) => {
          for (const { measure, accumulator } of accumulators) measure.write(accumulator.state(id), states);
        });
      }
      return out.done();
    },
  };
}
