import { aggregateLimits } from "../limits.ts";
import type { Columns, Meter } from "../measures/measure.ts";
import type { Writer } from "../partial/bytes.ts";
import { keyBytes, type PartialBytes, writePartial } from "../partial/partial.ts";
import { incidents, tooManyBytes } from "../partial/report.ts";
import type { Query } from "../query.ts";
import type { Field, ReadReport, RecordBatch } from "../records.ts";
import { badNumbers } from "./badNumbers.ts";
import { compileFilter } from "./compileFilter.ts";
import { groupIds } from "./groupIds.ts";
import { type NumberColumn, numberColumn } from "./numberColumn.ts";

/** Folds the rows of one chunk, or none of them. */
export interface Folding {
  add(batch: RecordBatch): void;
  /** The partial; the folding is used up. */
  done(read: ReadReport): PartialBytes;
}

/**
 * `path` is for messages. `add` throws `CalculationError` for a bad number under the policy `fail`, and for more groups
 * than there may be.
 */
export function foldRange(query: Query, policy: "fail" | "skip", path: string): Folding {
  const { wanted, keys, where, measures } = query;
  const bad = badNumbers(path, wanted, policy);
  const numbers = new Map<string, NumberColumn>();
  const columns: Columns = {
    place: (column) => wanted.indexOf(column),
    numbers(column) {
      const index = wanted.indexOf(column);
      const known = numbers.get(column) ?? numberColumn(index, (place) => bad.found(place, index));
      numbers.set(column, known);
      return known;
    },
  };
  let meteredBytes = 0;
  const meter: Meter = (more) => {
    meteredBytes += more;
    if (meteredBytes > aggregateLimits.partialBytesMax) throw tooManyBytes(groups.size);
  };
  const groups = groupIds(keys.map(columns.place), meter);
  const filter = where === undefined ? undefined : compileFilter(where, columns);
  const accumulators = measures.map((measure) => ({ measure, accumulator: measure.start(columns, meter) }));

  let place = new Int32Array(0);
  let group = new Int32Array(0);
  let selected = 0;
  const fold = (rows: RecordBatch["rows"]): void => {
    if (place.length < rows.length) {
      place = new Int32Array(rows.length);
      group = new Int32Array(rows.length);
    }
    for (const column of numbers.values()) column.begin(rows);
    let count = 0;
    for (let i = 0; i < rows.length; i++) {
      const row = rows[i] as readonly Field[];
      if (filter !== undefined && filter(row, i) !== true) continue;
      place[count] = i;
      group[count++] = groups.of(row);
    }
    selected += count;
    for (const { accumulator } of accumulators) accumulator.add({ rows, count, place, group }, groups.size);
  };

  return {
    add(batch) {
      fold(batch.rows);
      bad.endBatch(batch);
    },
    done({ records, bytes, skipped, offenders, absent }) {
      // A total over no rows has its states, too.
      fold([]);
      const inOrder = Array.from({ length: groups.size }, (_, id) => ({ id, key: keyBytes(groups.key(id)) }));
      inOrder.sort((a, b) => Buffer.compare(a.key, b.key));
      const report = {
        records,
        bytes,
        selected,
        skipped: incidents(skipped, offenders),
        badNumbers: bad.incidents(),
        absent,
      };
      const written = inOrder.map(({ id, key }) => ({
        key,
        writeStates(out: Writer) {
          for (const { measure, accumulator } of accumulators) measure.write(accumulator.state(id), out);
        },
      }));
      return writePartial(report, written);
    },
  };
}
