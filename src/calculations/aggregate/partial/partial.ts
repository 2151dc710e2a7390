import { CorruptDataError } from "../../../model/errors.ts";
import { aggregateLimits } from "../limits.ts";
import type { Measure } from "../measures/measure.ts";
import type { Field } from "../records.ts";
import { byteReader, byteWriter, type Reader, type Writer } from "./bytes.ts";
import { mergeReports, type Report, tooManyBytes, tooManyGroups } from "./report.ts";

/**
 * A partial is its own encoding: the report as JSON, then the groups, each as its key and the states of its measures,
 * in the order of the keys' bytes. So merging is that of two sorted lists, needs no map, and changes neither of them;
 * equal contents are equal bytes.
 */
export type PartialBytes = Uint8Array;
// biome-ignore lint/suspicious/noExplicitAny: a measure's state is known only to itself.
export type AnyMeasure = Measure<any>;

/** One group on its way into a partial. */
export interface Group {
  readonly key: Uint8Array;
  writeStates(out: Writer): void;
}

/** `groups` in the order of their keys. */
export function writePartial(report: Report, groups: Iterable<Group>): PartialBytes {
  const out = partialWriter(report);
  for (const { key, writeStates } of groups) out.group(key, writeStates);
  return out.done();
}

export function mergePartials(
  a: PartialBytes,
  b: PartialBytes,
  measures: readonly AnyMeasure[],
): PartialBytes {
  const [left, right] = [partialReader(a), partialReader(b)];
  const out = partialWriter(mergeReports(left.report, right.report));
  while (left.key !== undefined || right.key !== undefined) {
    const order =
      left.key === undefined ? 1 : right.key === undefined ? -1 : Buffer.compare(left.key, right.key);
    if (order !== 0) {
      const one = order < 0 ? left : right;
      out.copy(one.record);
      one.next();
      continue;
    }
    out.group(left.key as Uint8Array, (writer) => {
      for (const measure of measures) {
        measure.write(measure.merge(measure.read(left.states), measure.read(right.states)), writer);
      }
    });
    left.next();
    right.next();
  }
  return out.done();
}

/** Hands over each group of a partial with the states of its measures. */
export function* readGroups(
  partial: PartialBytes,
  measures: readonly AnyMeasure[],
): Generator<{ key: readonly Field[]; states: unknown[] }> {
  const reader = partialReader(partial);
  for (; reader.key !== undefined; reader.next()) {
    const key = readKey(reader.key);
    yield { key, states: measures.map((measure) => measure.read(reader.states)) };
  }
}

export const readReport = (partial: PartialBytes): Report => partialReader(partial).report;

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

function partialWriter(report: Report) {
  const out = byteWriter(64 * 1024);
  const states = byteWriter();
  let groups = 0;
  out.text(JSON.stringify(report));
  const check = (): void => {
    groups += 1;
    if (groups > aggregateLimits.groupsMax) throw tooManyGroups();
    if (out.length > aggregateLimits.partialBytesMax) throw tooManyBytes(groups);
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

/** Stands at one group of a partial; `key` is undefined at the end. */
interface PartialReader {
  readonly report: Report;
  readonly key: Uint8Array | undefined;
  /** At the states of this group. */
  readonly states: Reader;
  /** All bytes of this group. */
  readonly record: Uint8Array;
  next(): void;
}

function partialReader(partial: PartialBytes): PartialReader {
  const reader = byteReader(partial);
  let key: Uint8Array | undefined;
  let from = 0;
  let to = 0;
  const next = (): void => {
    reader.at = to;
    from = to;
    key = undefined;
    if (to === reader.end) return;
    key = reader.bytes(reader.count());
    const length = reader.count();
    to = reader.at + length;
    if (to > reader.end) throw new CorruptDataError("short-partial", "a partial ends too early");
  };
  const report = JSON.parse(reader.text()) as Report;
  to = reader.at;
  next();
  return {
    report,
    get key() {
      return key;
    },
    states: reader,
    get record() {
      return partial.subarray(from, to);
    },
    next,
  };
}
