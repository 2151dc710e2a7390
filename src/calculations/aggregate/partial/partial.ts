import { CalculationError } from "../../../model/errors.ts";
import { aggregateLimits } from "../limits.ts";
import type { Measure } from "../measures/measure.ts";
import type { Field, Offender } from "../records.ts";
import { byteReader, byteWriter, cutOff, type Reader, type Writer } from "./bytes.ts";

const { groupsMax, partialBytesMax, offendersMax } = aggregateLimits;

/**
 * A partial is its own encoding: the report as JSON, then the groups in the order of their keys' bytes, each with its key
 * and the states of its measures. So a merge is that of two sorted lists, and equal contents are equal bytes.
 */
export type PartialBytes = Uint8Array;
// biome-ignore lint/suspicious/noExplicitAny: only a measure knows the type of its state.
export type AnyMeasure = Measure<any>;

export function mergePartials(a: PartialBytes, b: PartialBytes, measures: readonly AnyMeasure[]) {
  const [readerA, readerB] = [byteReader(a), byteReader(b)];
  const out = partialWriter(mergeReports(reportIn(readerA), reportIn(readerB)));
  const [groupsA, groupsB] = [groupsIn(a, readerA), groupsIn(b, readerB)];
  let [left, right] = [nextOf(groupsA), nextOf(groupsB)];
  while (left !== undefined || right !== undefined) {
    const order = left === undefined ? 1 : right === undefined ? -1 : Buffer.compare(left.key, right.key);
    if (order === 0) {
      out.group((left as Group).key, (writer) => {
        for (const measure of measures) {
          measure.write(measure.merge(measure.read(readerA), measure.read(readerB)), writer);
        }
      });
    } else {
      out.copy(((order < 0 ? left : right) as Group).record);
    }
    if (order <= 0) left = nextOf(groupsA);
    if (order >= 0) right = nextOf(groupsB);
  }
  return out.done();
}

/** Yields each group of a partial with the states of its measures. */
export function* readGroups(
  partial: PartialBytes,
  measures: readonly AnyMeasure[],
): Generator<{ key: readonly Field[]; states: unknown[] }> {
  const reader = byteReader(partial);
  reportIn(reader);
  for (const { key } of groupsIn(partial, reader)) {
    yield { key: readKey(key), states: measures.map((measure) => measure.read(reader)) };
  }
}

export const readReport = (partial: PartialBytes): Report => reportIn(byteReader(partial));

const reportIn = (reader: Reader): Report => JSON.parse(reader.text()) as Report;

const keyWriter = byteWriter();
export function keyBytes(key: readonly Field[]): Uint8Array {
  keyWriter.clear();
  for (const field of key) keyWriter.field(field);
  return keyWriter.written().slice();
}

function readKey(bytes: Uint8Array): readonly Field[] {
  const reader = byteReader(bytes);
  const key: Field[] = [];
  while (reader.at < reader.end) key.push(reader.field());
  return key;
}

/** Writes a partial; `group` and `copy` expect the groups in the order of their keys. */
export function partialWriter(report: Report) {
  const out = byteWriter(64 * 1024);
  const states = byteWriter();
  let groups = 0;
  out.text(JSON.stringify(report));
  const check = (): void => {
    groups += 1;
    if (groups > groupsMax) throw tooManyGroups();
    if (out.length > partialBytesMax) throw tooManyBytes(groups);
  };
  return {
    group(key: Uint8Array, writeStates: (out: Writer) => void): void {
      states.clear();
      writeStates(states);
      out.count(key.length);
      out.bytes(key);
      out.count(states.length);
      out.bytes(states.written());
      check();
    },
    copy(record: Uint8Array): void {
      out.bytes(record);
      check();
    },
    done: (): PartialBytes => out.written().slice(),
  };
}

interface Group {
  readonly key: Uint8Array;
  /** All bytes of the group. */
  readonly record: Uint8Array;
}

/** Yields the groups of a partial; the reader, which has read the report, is then at the states of the group. */
function* groupsIn(partial: PartialBytes, reader: Reader): Generator<Group, undefined> {
  for (let from = reader.at; from < reader.end; from = reader.at) {
    const key = reader.bytes(reader.count());
    const length = reader.count();
    const to = reader.at + length;
    if (to > reader.end) throw cutOff();
    yield { key, record: partial.subarray(from, to) };
    reader.at = to;
  }
}

const nextOf = (groups: Generator<Group, undefined>): Group | undefined => groups.next().value;

/** What was read, and what of it was left out. */
interface Report {
  readonly records: number;
  readonly bytes: number;
  /** Records that passed the filter. */
  readonly selected: number;
  /** Records left out because their number of fields differs from the header's. */
  readonly skipped: Incidents;
  /** Fields that should be numbers and are not; they count as empty. */
  readonly badNumbers: Incidents;
  /** Wanted columns that no record had. */
  readonly absent: readonly string[];
}

/** The number of incidents, and the first of them in the order of the files. */
export interface Incidents {
  readonly count: number;
  readonly first: readonly Offender[];
}

export const incidents = (count: number, offenders: readonly Offender[]): Incidents => ({
  count,
  first: offenders.slice(0, offendersMax).map((one) => ({ ...one, what: shortened(one.what) })),
});

const mergeReports = (a: Report, b: Report): Report => ({
  records: a.records + b.records,
  bytes: a.bytes + b.bytes,
  selected: a.selected + b.selected,
  skipped: mergeIncidents(a.skipped, b.skipped),
  badNumbers: mergeIncidents(a.badNumbers, b.badNumbers),
  absent: a.absent.filter((name) => b.absent.includes(name)),
});

const mergeIncidents = (a: Incidents, b: Incidents): Incidents =>
  incidents(a.count + b.count, [...a.first, ...b.first]);

/** A report must stay small whatever a file holds. */
const shortened = (text: string): string => (text.length <= 200 ? text : `${text.slice(0, 199)}…`);

const advice = "group by fewer or coarser columns, or let fewer rows through with --where";

export const tooManyGroups = (): CalculationError =>
  new CalculationError(
    "too-many-groups",
    `there are more than ${groupsMax} groups, the limit (groupsMax); ${advice}`,
  );

export const tooManyBytes = (groups: number): CalculationError =>
  new CalculationError(
    "too-many-groups",
    `the first ${groups} groups need more than ${partialBytesMax} bytes, the limit (partialBytesMax); ${advice}, ` +
      "or leave out distinct, quantile or top",
  );
