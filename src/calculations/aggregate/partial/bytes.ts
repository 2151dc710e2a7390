import { CorruptDataError } from "../../../model/errors.ts";
import type { Field } from "../records.ts";

const encoder = new TextEncoder();

export type Writer = ReturnType<typeof byteWriter>;

/** Appends to an array that grows; all numbers are little-endian. */
export function byteWriter(capacity = 1024) {
  let target = new Uint8Array(capacity);
  let view = new DataView(target.buffer);
  let length = 0;
  const reserve = (more: number): void => {
    if (length + more <= target.length) return;
    target = new Uint8Array(target.buffer.transfer(Math.max(target.length * 2, length + more)));
    view = new DataView(target.buffer);
  };
  const writer = {
    /** A whole number from 0 to 2^53 - 1, seven bits a byte. */
    count(value: number): void {
      reserve(8);
      let rest = value;
      for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) target[length++] = (rest % 0x80) | 0x80;
      target[length++] = rest;
    },
    number(value: number): void {
      reserve(8);
      view.setFloat64(length, value, true);
      length += 8;
    },
    bytes(value: Uint8Array): void {
      reserve(value.length);
      target.set(value, length);
      length += value.length;
    },
    text(value: string): void {
      const most = value.length * 3;
      if (most < 0x80) {
        reserve(most + 1);
        const { written } = encoder.encodeInto(value, target.subarray(length + 1));
        target[length] = written;
        length += 1 + written;
        return;
      }
      const bytes = encoder.encode(value);
      writer.count(bytes.length);
      writer.bytes(bytes);
    },
    field(value: Field): void {
      if (typeof value === "string") {
        writer.count(tags.text);
        writer.text(value);
      } else if (typeof value === "number") {
        writer.count(tags.number);
        writer.number(value);
      } else {
        writer.count(value === null ? tags.empty : value ? tags.true : tags.false);
      }
    },
    get length(): number {
      return length;
    },
    /** The bytes so far; valid until the next call. */
    written: (): Uint8Array => target.subarray(0, length),
    clear(): void {
      length = 0;
    },
  };
  return writer;
}

const tags = { empty: 0, number: 1, false: 2, true: 3, text: 4 } as const;

export type Reader = ReturnType<typeof byteReader>;

/** Reads what a `Writer` wrote. Throws `CorruptDataError` past the end. */
export function byteReader(source: Uint8Array) {
  const view = new DataView(source.buffer, source.byteOffset, source.length);
  const buffer = Buffer.from(source.buffer, source.byteOffset, source.length);
  const take = (length: number): number => {
    const from = reader.at;
    if (from + length > source.length) throw cutOff();
    reader.at = from + length;
    return from;
  };
  const reader = {
    at: 0,
    end: source.length,
    count(): number {
      let value = 0;
      for (let unit = 1; ; unit *= 0x80) {
        const byte = source[take(1)] as number;
        value += (byte & 0x7f) * unit;
        if (byte < 0x80) return value;
      }
    },
    number: (): number => view.getFloat64(take(8), true),
    /** A view, not a copy. */
    bytes(length: number): Uint8Array {
      const from = take(length);
      return source.subarray(from, from + length);
    },
    text(): string {
      const length = reader.count();
      const from = take(length);
      return buffer.toString("utf8", from, from + length);
    },
    field(): Field {
      const tag = reader.count();
      if (tag === tags.text) return reader.text();
      if (tag === tags.number) return reader.number();
      return tag === tags.empty ? null : tag === tags.true;
    },
  };
  return reader;
}

export const cutOff = (): CorruptDataError =>
  new CorruptDataError("short-partial", "a partial ends too early");
