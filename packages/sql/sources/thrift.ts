/**
 * Values in Thrift's compact protocol, as Parquet's metadata are written
 * (https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md). A value is kept with its type, so
 * that fields which are not known here are written as they were. Throws `RangeError` for bytes that end too early.
 */
export type Struct = Map<number, Typed>;

interface Typed {
  readonly type: number;
  readonly value: ThriftValue;
}
type ThriftValue = bigint | boolean | Buffer | Struct | List | Pairs;
export interface List {
  readonly of: number;
  readonly items: readonly ThriftValue[];
}
interface Pairs {
  readonly keys: List;
  readonly values: List;
}

const [yes, no, byte, double, binary, list, set, map, struct] = [1, 2, 3, 7, 8, 9, 10, 11, 12];

/** Reads the struct with which bytes begin. */
export function readStruct(bytes: Buffer): Struct {
  let at = 0;
  const next = (): number => bytes.readUInt8(at++);
  const take = (length: number): Buffer => {
    if (at + length > bytes.length) throw new RangeError("the bytes end within a value");
    at += length;
    return bytes.subarray(at - length, at);
  };
  const varint = (): bigint => {
    for (let [value, shift] = [0n, 0n]; ; shift += 7n) {
      const one = next();
      value |= BigInt(one & 0x7f) << shift;
      if (one < 0x80) return value;
    }
  };
  const signed = (): bigint => {
    const value = varint();
    return (value >> 1n) ^ -(value & 1n);
  };
  const items = (of: number, size: number): List => ({
    of,
    items: Array.from({ length: size }, () => (of <= no ? next() === yes : thriftValue(of))),
  });
  const structOf = (): Struct => {
    const fields: Struct = new Map();
    for (let id = 0; ; ) {
      const head = next();
      if (head === 0) return fields;
      id = head >> 4 === 0 ? Number(signed()) : id + (head >> 4);
      fields.set(id, { type: head & 15, value: thriftValue(head & 15) });
    }
  };
  const thriftValue = (type: number): ThriftValue => {
    if (type === yes || type === no) return type === yes;
    if (type === byte) return BigInt(next());
    if (type === double) return take(8);
    if (type === binary) return take(Number(varint()));
    if (type === struct) return structOf();
    if (type === list || type === set) {
      const head = next();
      return items(head & 15, head >> 4 === 15 ? Number(varint()) : head >> 4);
    }
    if (type !== map) return signed();
    const size = Number(varint());
    const types = size === 0 ? 0 : next();
    const pairs = Array.from(
      { length: size },
      () => [thriftValue(types >> 4), thriftValue(types & 15)] as const,
    );
    return {
      keys: { of: types >> 4, items: pairs.map(([key]) => key) },
      values: { of: types & 15, items: pairs.map(([, value]) => value) },
    };
  };
  return structOf();
}

export function writeStruct(fields: Struct): Buffer {
  const out: Buffer[] = [];
  const put = (...bytes: number[]): number => out.push(Buffer.from(bytes));
  const varint = (value: bigint): void => {
    let rest = value;
    for (; rest > 0x7fn; rest >>= 7n) put(Number(rest & 0x7fn) | 0x80);
    put(Number(rest));
  };
  const signed = (value: bigint): void => varint(value < 0n ? (-value << 1n) - 1n : value << 1n);
  const structOf = (all: Struct): void => {
    let last = 0;
    for (const [id, { type, value }] of [...all].toSorted(([a], [b]) => a - b)) {
      const kind = typeof value === "boolean" ? (value ? yes : no) : type;
      if (id > last && id - last < 16) put(((id - last) << 4) | kind);
      else {
        put(kind);
        signed(BigInt(id));
      }
      if (typeof value !== "boolean") thriftValue(type, value);
      last = id;
    }
    put(0);
  };
  const thriftValue = (type: number, value: ThriftValue): void => {
    if (typeof value === "boolean") put(value ? yes : no);
    else if (Buffer.isBuffer(value)) {
      if (type === binary) varint(BigInt(value.length));
      out.push(value);
    } else if (typeof value === "bigint") type === byte ? put(Number(value)) : signed(value);
    else if (value instanceof Map) structOf(value);
    else if ("items" in value) {
      const { of, items } = value;
      put((Math.min(items.length, 15) << 4) | of);
      if (items.length >= 15) varint(BigInt(items.length));
      for (const item of items) thriftValue(of, item);
    } else {
      varint(BigInt(value.keys.items.length));
      if (value.keys.items.length > 0) put((value.keys.of << 4) | value.values.of);
      for (const [index, key] of value.keys.items.entries()) {
        thriftValue(value.keys.of, key);
        thriftValue(value.values.of, value.values.items[index] as ThriftValue);
      }
    }
  };
  structOf(fields);
  return Buffer.concat(out);
}

export const structsOf = (fields: Struct | undefined, id: number): readonly Struct[] => {
  const value = fields?.get(id)?.value;
  return typeof value === "object" && "items" in value ? (value.items as readonly Struct[]) : [];
};

export const numberOf = (fields: Struct | undefined, id: number): number | undefined => {
  const value = fields?.get(id)?.value;
  return typeof value === "bigint" ? Number(value) : undefined;
};

export const textOf = (fields: Struct | undefined, id: number): string => {
  const value = fields?.get(id)?.value;
  return Buffer.isBuffer(value) ? value.toString() : "";
};

/** A copy of a struct with some fields changed; undefined leaves one out. */
export function withFields(
  fields: Struct,
  changes: Readonly<Record<number, bigint | List | Struct | undefined>>,
): Struct {
  const copy: Struct = new Map(fields);
  for (const [id, value] of Object.entries(changes)) {
    if (value === undefined) copy.delete(Number(id));
    else
      copy.set(Number(id), {
        type: typeof value === "bigint" ? 6 : value instanceof Map ? struct : list,
        value,
      });
  }
  return copy;
}

export const listOf = (items: readonly ThriftValue[]): List => ({ of: struct, items });
