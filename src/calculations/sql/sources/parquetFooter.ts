import { CalculationError } from "../../../model/errors.ts";
import type { FileFact } from "../../files.ts";

/**
 * The metadata at the end of a Parquet file, which are a struct of Thrift's compact protocol. Only as much of it is parsed
 * as leaving out row groups takes: DuckDB reads the rest.
 * https://github.com/apache/parquet-format and https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md
 */
export function withRowGroups(
  metadata: Uint8Array,
  { from, to }: { from: number; to: number },
  file: FileFact,
) {
  const reader = new CompactReader(metadata);
  const pieces: Uint8Array[] = [];
  let copied = 0;
  const replace = (start: number, end: number, by: Uint8Array): void => {
    pieces.push(metadata.subarray(copied, start), by);
    copied = end;
  };
  try {
    /** Where the number of all rows stands among the pieces: it comes before the row groups, and depends on them. */
    let rowsAt = -1;
    reader.struct((id) => {
      const start = reader.at;
      if (id === rowsField) {
        reader.varint();
        rowsAt = pieces.length + 1;
        replace(start, reader.at, new Uint8Array());
      } else if (id === groupsField) {
        const groups = rowGroups(reader);
        const chosen = groups.slice(from, to);
        const rows = chosen.reduce((sum, one) => sum + one.rows, 0n);
        pieces[rowsAt] = varintBytes(rows * 2n);
        const bytes = chosen.map((one) => metadata.subarray(one.start, one.end));
        replace(start, reader.at, Buffer.concat([listHeader(chosen.length), ...bytes]));
      } else return false;
      return true;
    });
  } catch (cause) {
    throw new CalculationError("bad-file", `${file.path}: its Parquet metadata are damaged`, { cause });
  }
  return Buffer.concat([...pieces, metadata.subarray(copied)]);
}

/** Fields of FileMetaData, and the one of RowGroup with its rows. */
const rowsField = 3;
const groupsField = 4;
const groupRowsField = 3;

const structType = 12;

function rowGroups(reader: CompactReader) {
  const { size } = reader.listHeader();
  return Array.from({ length: size }, () => {
    const start = reader.at;
    let rows = 0n;
    reader.struct((id) => {
      if (id === groupRowsField) rows = reader.varint() / 2n;
      return id === groupRowsField;
    });
    return { start, end: reader.at, rows };
  });
}

const listHeader = (size: number): Uint8Array =>
  size < 15
    ? Uint8Array.of((size << 4) | structType)
    : Buffer.concat([Uint8Array.of(0xf0 | structType), varintBytes(BigInt(size))]);

function varintBytes(value: bigint): Uint8Array {
  const bytes: number[] = [];
  let rest = value;
  for (; rest > 127n; rest >>= 7n) bytes.push(Number(rest & 127n) | 128);
  return Uint8Array.from([...bytes, Number(rest)]);
}

/** Walks over values; throws a RangeError beyond the end. */
class CompactReader {
  at = 0;
  readonly #bytes: Uint8Array;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  #byte(): number {
    const byte = this.#bytes[this.at];
    if (byte === undefined) throw new RangeError("the metadata end early");
    this.at += 1;
    return byte;
  }

  varint(): bigint {
    let value = 0n;
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const byte = this.#byte();
      value |= BigInt(byte & 127) << shift;
      if (byte < 128) return value;
    }
    throw new RangeError("a number is too long");
  }

  listHeader(): { readonly size: number; readonly type: number } {
    const byte = this.#byte();
    const size = byte >> 4 === 15 ? Number(this.varint()) : byte >> 4;
    if (size > this.#bytes.length - this.at) throw new RangeError("a list is longer than the metadata");
    return { size, type: byte & 15 };
  }

  /** Calls `take` for each field: it reads the value and returns true, or leaves it to be skipped. */
  struct(take: (id: number) => boolean): void {
    for (let id = 0; ; ) {
      const head = this.#byte();
      if (head === 0) return;
      const delta = head >> 4;
      id = delta === 0 ? Number(this.varint() >> 1n) : id + delta;
      if (!take(id)) this.#skip(head & 15, false);
    }
  }

  #skip(type: number, inList: boolean): void {
    // Of a field, the type says whether it is true.
    if (type === 1 || type === 2) this.at += inList ? 1 : 0;
    else if (type === 3) this.at += 1;
    else if (type >= 4 && type <= 6) this.varint();
    else if (type === 7) this.at += 8;
    else if (type === 8) this.at = Number(this.varint()) + this.at;
    else if (type === 9 || type === 10) {
      const { size, type: inner } = this.listHeader();
      for (let index = 0; index < size; index += 1) this.#skip(inner, true);
    } else if (type === structType) this.struct(() => false);
    else throw new RangeError(`type ${type} is not one of Parquet's metadata`);
  }
}
