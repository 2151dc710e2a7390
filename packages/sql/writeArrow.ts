import type { DuckDBType, DuckDBValue } from "@duckdb/node-api";
import { type Data, makeData } from "apache-arrow/data";
import { RecordBatchFileWriter } from "apache-arrow/ipc/writer";
import { RecordBatch } from "apache-arrow/recordbatch";
import { Field, Schema } from "apache-arrow/schema";
import * as arrow from "apache-arrow/type";
import type { Session } from "./duck/session.ts";

/**
 * The rows of a query as an Arrow file. Lists and structs stay such. A type that is not in the tables below is text, as
 * DuckDB writes it.
 */
export async function arrowFile(query: string, session: Session): Promise<Uint8Array> {
  const writer = new RecordBatchFileWriter();
  await session.chunks(query, ({ names, types, columns }) => {
    const data = types.map((type, index) => dataOf(type, columns[index] ?? []));
    const fields = data.map(({ type }, index) => new Field(names[index] ?? "", type, true));
    const rows = { type: new arrow.Struct(fields), length: columns[0]?.length ?? 0, children: data };
    writer.write(new RecordBatch(new Schema(fields), makeData(rows)));
  });
  writer.finish();
  return writer.toUint8Array(true);
}

type Values = readonly DuckDBValue[];

/** Types whose values are numbers of one size, and how a value is one of them. */
const fixed: Readonly<
  Record<string, readonly [arrow.DataType, (values: Values) => ArrayBufferView & ArrayLike<unknown>]>
> = {
  TINYINT: [new arrow.Int8(), (values) => Int8Array.from(values, Number)],
  SMALLINT: [new arrow.Int16(), (values) => Int16Array.from(values, Number)],
  INTEGER: [new arrow.Int32(), (values) => Int32Array.from(values, Number)],
  UTINYINT: [new arrow.Uint8(), (values) => Uint8Array.from(values, Number)],
  USMALLINT: [new arrow.Uint16(), (values) => Uint16Array.from(values, Number)],
  UINTEGER: [new arrow.Uint32(), (values) => Uint32Array.from(values, Number)],
  BIGINT: [new arrow.Int64(), (values) => BigInt64Array.from(values, whole)],
  UBIGINT: [new arrow.Uint64(), (values) => BigUint64Array.from(values, whole)],
  FLOAT: [new arrow.Float32(), (values) => Float32Array.from(values, Number)],
  DOUBLE: [new arrow.Float64(), (values) => Float64Array.from(values, Number)],
  DATE: [new arrow.DateDay(), (values) => Int32Array.from(values, (value) => Number(of(value, "days") ?? 0))],
  TIMESTAMP: [new arrow.TimestampMicrosecond(), micros],
  "TIMESTAMP WITH TIME ZONE": [new arrow.TimestampMicrosecond("UTC"), micros],
};

const whole = (value: unknown): bigint => (typeof value === "bigint" ? value : 0n);
const of = (value: DuckDBValue, name: string): unknown =>
  (value as Readonly<Record<string, unknown>> | null)?.[name];

function micros(values: Values): BigInt64Array {
  return BigInt64Array.from(values, (value) => whole(of(value, "micros")));
}

function dataOf(type: DuckDBType, values: Values): Data {
  const { length } = values;
  const nullCount = values.filter((value) => value === null).length;
  const common = { length, nullCount, ...(nullCount === 0 ? {} : { nullBitmap: bitmap(values, isThere) }) };
  const name = String(type);
  const [numbers, toArray] = fixed[name] ?? [];
  if (numbers !== undefined) return makeData({ ...common, type: numbers, data: toArray?.(values) } as never);
  if (name === "BOOLEAN")
    return makeData({
      ...common,
      type: new arrow.Bool(),
      data: bitmap(values, (value) => value === true),
    });
  if ("scale" in type) {
    const data = new BigUint64Array(2 * length);
    for (const [index, value] of values.entries()) {
      const units = whole(of(value, "value"));
      data.set([BigInt.asUintN(64, units), BigInt.asUintN(64, units >> 64n)], 2 * index);
    }
    const decimal = new arrow.Decimal(type.scale, type.width, 128);
    return makeData({ ...common, type: decimal, data: new Uint32Array(data.buffer) });
  }
  if ("entryTypes" in type) {
    const children = type.entryTypes.map((inner, index) => {
      const entry = type.entryNames[index] ?? "";
      const inside = values.map(
        (value) => (of(value, "entries") as Record<string, DuckDBValue> | undefined)?.[entry] ?? null,
      );
      return dataOf(inner, inside);
    });
    const fields = children.map((child, index) => new Field(type.entryNames[index] ?? "", child.type, true));
    return makeData({ ...common, type: new arrow.Struct(fields), children });
  }
  if (name.endsWith("[]") && "valueType" in type) {
    const lists = values.map((value) => (of(value, "items") ?? []) as Values);
    const child = dataOf(type.valueType, lists.flat());
    const list = new arrow.List(new Field("item", child.type, true));
    return makeData({ ...common, type: list, valueOffsets: offsets(lists), child });
  }
  const bytes = values.map((value) =>
    name === "BLOB"
      ? ((of(value, "bytes") as Uint8Array | undefined) ?? nothing)
      : Buffer.from(value === null ? "" : String(value)),
  );
  const given = { ...common, valueOffsets: offsets(bytes), data: Buffer.concat(bytes) };
  return name === "BLOB"
    ? makeData({ ...given, type: new arrow.Binary() })
    : makeData({ ...given, type: new arrow.Utf8() });
}

const nothing = new Uint8Array();
const isThere = (value: DuckDBValue): boolean => value !== null;

/** A bit for each value, the first one lowest. */
function bitmap(values: Values, isSet: (value: DuckDBValue) => boolean): Uint8Array {
  const bits = new Uint8Array(Math.ceil(values.length / 8));
  for (const [index, value] of values.entries())
    if (isSet(value)) bits[index >> 3] = (bits[index >> 3] ?? 0) | (1 << (index & 7));
  return bits;
}

/** Where each value begins, and the last one ends. */
function offsets(values: readonly ArrayLike<unknown>[]): Int32Array {
  const ends = new Int32Array(values.length + 1);
  for (const [index, { length }] of values.entries()) ends[index + 1] = (ends[index] ?? 0) + length;
  return ends;
}
