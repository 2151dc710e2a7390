import { createGzip } from "node:zlib";
import { describe, expect, test } from "vitest";
import { readRange } from "../../../../src/calculations/aggregate/reading/readRange.ts";
import type { RangeInput } from "../../../../src/calculations/aggregate/records.ts";
import { type Files, filesOver } from "../../../../src/calculations/files.ts";
import { generatedFiles, repeated } from "../../../support/generatedFiles.ts";
import { plan, readParams } from "./readAll.ts";

const full = process.env["LEASEFOLD_FULL"] === "1";
const mib = 1024 ** 2;
const head = "key,text,value\n";
const line = 'some key,"a text, quoted, of ""some"" length",12.5\n';
const columns = ["key", "text", "value"];
const pieceBytes = full ? 8 * mib : mib / 4;
const longTimeout = 1_800_000;

const wholeRange = (path: string, bytes: number): RangeInput => ({
  file: { path, bytes, etag: "generated" },
  from: head.length,
  to: bytes,
  first: head.length,
  columns,
});

/** Reads a range and notes how far the source is ahead of the records handed over, and the memory outside the heap. */
async function measured(range: RangeInput, files: Files, given: () => number) {
  let ahead = 0;
  let buffers = 0;
  let sum = 0;
  const before = process.memoryUsage().arrayBuffers;
  const report = await readRange(range, { params: readParams(), files, wanted: ["value"] }, (batch) => {
    ahead = Math.max(ahead, given() - batch.offsetOf(0));
    buffers = Math.max(buffers, process.memoryUsage().arrayBuffers - before);
    for (let row = 0; row < batch.rows; row++) sum += Number(batch.field(row, 0));
  });
  return { report, ahead, buffers, sum };
}

describe("one range of a very long file", () => {
  const records = Math.floor((full ? 10_000 * mib : 16 * mib) / line.length);
  const bytes = head.length + records * line.length;

  test(`of ${Math.round(bytes / mib)} MB is never held`, { timeout: longTimeout }, async () => {
    const { files, given } = generatedFiles("data/x.csv", bytes, repeated(head, line), pieceBytes);
    const { report, ahead, buffers, sum } = await measured(wholeRange("data/x.csv", bytes), files, given);
    expect(report.records).toBe(records);
    expect(sum).toBe(records * 12.5);
    expect(ahead).toBeLessThanOrEqual(2 * pieceBytes);
    expect(buffers).toBeLessThan(full ? 256 * mib : 12 * mib);
  });

  test.each([0, 20])(
    "and its pieces are freed once their records are read, however a record of %d bytes more lies in them",
    { timeout: longTimeout },
    async (more) => {
      const start = `key,text,value\n${"k".repeat(more)},,0\n`;
      const size = start.length + Math.ceil((17 * mib) / line.length) * line.length;
      const write = repeated(start, line);
      const pieces: Uint8Array[] = [];
      const files = filesOver({
        list: async () => ({ files: [] }),
        async read(_, from, to) {
          const piece = new Uint8Array(to - from);
          write(from, piece);
          pieces.push(piece);
          return piece;
        },
      });
      const { report, sum } = await measured(wholeRange("data/x.csv", size), files, () => 0);
      expect(report.records).toBe((size - start.length) / line.length + 1);
      expect(report.bytes).toBe(size - head.length);
      expect(sum).toBe((report.records - 1) * 12.5);
      expect(pieces.map(({ length }) => length)).toEqual([0, 0, 0]);
    },
  );

  test("a long gzip range is never held in memory", { timeout: longTimeout }, async () => {
    const some = Math.floor((full ? 1_000 * mib : 8 * mib) / line.length);
    const size = head.length + some * line.length;
    const { files, given } = generatedFiles("data/x.csv.gz", size, repeated(head, line), pieceBytes);
    const zipped: Files = {
      list: files.list,
      async *read(file, range) {
        // Behind the content nothing follows.
        if (range !== undefined) return;
        const gzip = createGzip({ level: 0 });
        const write = async () => {
          for await (const piece of files.read(file)) {
            if (!gzip.write(piece)) await new Promise((resolve) => gzip.once("drain", resolve));
          }
          gzip.end();
        };
        void write();
        yield* gzip;
      },
    };
    const { report, ahead } = await measured(wholeRange("data/x.csv.gz", size), zipped, given);
    expect(report.records).toBe(some);
    expect(ahead).toBeLessThan(full ? 64 * mib : 3 * mib);
  });
});

describe("a quote that is never closed", () => {
  const open = 'last key,"open, and nothing closes it\n';
  const size = full ? 1_000 * mib : 20 * mib;
  const records = Math.floor(size / line.length);
  const before = head.length + records * line.length;
  const bytes = before + open.length;
  const withOpen = (from: number, piece: Uint8Array): void => {
    repeated(head, line)(from, piece);
    const tail = Buffer.from(open);
    for (let at = Math.max(0, before - from); at < piece.length; at += 1)
      piece[at] = tail[from + at - before] ?? 0;
  };
  const where = `data/x.csv: the quote at byte ${before + "last key,".length} is never closed`;

  test(`at the end of ${Math.round(size / mib)} MB is named by the plan if its ranges are short`, {
    timeout: longTimeout,
  }, async () => {
    const { files } = generatedFiles("data/x.csv", bytes, withOpen, pieceBytes);
    await expect(plan(readParams({ chunkBytes: mib / 2 }), files)).rejects.toThrow(where);
  });

  test.each([true, false])(
    "the last of long ranges names it (quotedNewlines %s)",
    {
      timeout: longTimeout,
    },
    async (quotedNewlines) => {
      const { files } = generatedFiles("data/x.csv", bytes, withOpen, pieceBytes);
      const params = readParams({ chunkBytes: 4 * mib, quotedNewlines });
      const last = (await plan(params, files)).at(-1) as RangeInput;
      await expect(readRange(last, { params, files, wanted: ["key"] }, () => {})).rejects.toThrow(where);
    },
  );

  test("that opens in the first of long ranges is named by it", { timeout: longTimeout }, async () => {
    const text = repeated(`${head}"open`, "text\n");
    const { files } = generatedFiles("data/x.csv", 40 * mib, text, pieceBytes);
    const params = readParams({ chunkBytes: 20 * mib });
    const first = (await plan(params, files))[0] as RangeInput;
    const why = `data/x.csv: the quote at byte ${head.length} is not closed within 16 MB, the limit of a record`;
    await expect(readRange(first, { params, files, wanted: ["key"] }, () => {})).rejects.toThrow(why);
  });

  test("that opens before the end of a range is not laid to an option that was not given", {
    timeout: longTimeout,
  }, async () => {
    const before = head.length + line.length * Math.floor((19 * mib) / line.length);
    const open = Buffer.from('last key,"open');
    const text = (from: number, piece: Uint8Array): void => {
      repeated(head, line)(from, piece);
      for (let at = Math.max(0, before - from); at < piece.length; at += 1)
        piece[at] = open[from + at - before] ?? ((from + at) % 8 === 0 ? 10 : 97);
    };
    const { files } = generatedFiles("data/x.csv", 60 * mib, text, pieceBytes);
    const params = readParams({ chunkBytes: 20 * mib });
    const first = (await plan(params, files))[0] as RangeInput;
    const why = `data/x.csv: the quote at byte ${before + "last key,".length} is never closed`;
    await expect(readRange(first, { params, files, wanted: ["key"] }, () => {})).rejects.toThrow(why);
  });

  test("an open quote at the start is found at the limit of a record", {
    timeout: longTimeout,
  }, async () => {
    const { files, given } = generatedFiles(
      "data/x.csv",
      60 * mib,
      repeated(`${head}"open`, "text\n"),
      pieceBytes,
    );
    const params = readParams({ chunkBytes: 4 * mib });
    const why = `data/x.csv: the quote at byte ${head.length} is not closed within 16 MB, the limit of a record`;
    await expect(plan(params, files)).rejects.toThrow(why);
    expect(given()).toBeLessThan(17 * mib + 2 * pieceBytes);
  });
});
