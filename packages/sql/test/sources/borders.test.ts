import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { memoryFiles } from "../../../../test/support/memoryFiles.ts";
import { csvBorders, findBorder } from "../../sources/findBorder.ts";
import { sourceLimits } from "../../sources/sourceLimits.ts";

const runs = process.env["LEASEFOLD_FULL"] === "1" ? 20_000 : 300;
const mib = 1024 ** 2;
const path = "data/x.csv";

/** Everything that opens, closes or doubles a quote, or only seems to. */
const piece = fc.constantFrom("a", " ", '"', '""', ",", ',"', '",', "\n", "\r\n", "\n\n", "é");
const value = fc.array(piece, { maxLength: 8 }).map((pieces) => pieces.join(""));
const cell = fc
  .record({ value, quoted: fc.boolean() })
  .map(({ value, quoted }) =>
    quoted || /[,\r\n]|^"/.test(value) ? `"${value.replaceAll('"', '""')}"` : value,
  );
const record = fc
  .tuple(fc.array(cell, { minLength: 1, maxLength: 4 }), fc.constantFrom("\n", "\r\n"))
  .map(([cells, end]) => cells.join(",") + end);

/** Where the records of a text begin, its end included, by how the text was made. */
function startsOf(records: readonly string[]): Set<number> {
  let at = 0;
  const starts = records.map((one) => {
    at += Buffer.byteLength(one);
    return at;
  });
  return new Set([0, ...starts]);
}

const borderOf = async (csv: string | Uint8Array, target: number, pieceBytes?: number) => {
  const bytes = Buffer.from(csv);
  const files = memoryFiles(new Map([[path, bytes]]), pieceBytes);
  for await (const file of files.list("data/")) {
    return findBorder({ file, delimiter: "," }, target, files);
  }
  return expect.fail("there is no file");
};

describe("a search for a record from the middle of a file", () => {
  test("finds where one begins, or says that it cannot tell", async () => {
    let [found, unknown] = [0, 0];
    const property = fc.asyncProperty(
      fc.array(record, { minLength: 1, maxLength: 30 }),
      fc.array(fc.nat(), { minLength: 12, maxLength: 12 }),
      fc.integer({ min: 1, max: 30 }),
      async (records, targets, pieceBytes) => {
        const csv = records.join("");
        const starts = startsOf(records);
        for (const target of targets.map((one) => 1 + (one % Buffer.byteLength(csv)))) {
          const border = await borderOf(csv, target, pieceBytes);
          if (border === undefined) unknown += 1;
          else {
            found += 1;
            expect(border).toBeGreaterThanOrEqual(target);
            expect(starts.has(border), `${JSON.stringify(csv)} at ${target}`).toBe(true);
          }
        }
      },
    );
    await fc.assert(property, { numRuns: runs });
    expect(found).toBeGreaterThan(5 * unknown);
  });

  const { recordBytesMax } = sourceLimits;
  const long = "text without a quote\n".repeat(recordBytesMax / 21 - 1);

  test("in a file without quotes reads as many bytes as a quoted field may have", async () => {
    const csv = `${"12,text\n".repeat((recordBytesMax + 8 * mib) / 8)}`;
    expect(await borderOf(csv, 4 * mib + 1)).toBe(4 * mib + 8);
  });

  test.each([1, 1_000, 1_000_000, long.length - 1])(
    "is not misled by %i bytes of a field that holds nothing but lines",
    async (before) => {
      const csv = `x,y\n1,"${long}"\n2,b\n${"3,c\n".repeat(10)}`;
      expect(await borderOf(csv, 7 + before)).toBe(csv.indexOf("2,b"));
    },
  );

  test("gives up where lines mean the same with quotes and fields swapped", async () => {
    const line = '",",","\n';
    const csv = `a,b\n${line.repeat((40 * mib) / line.length)}`;
    expect(await borderOf(csv, mib)).toBeUndefined();
  });
});

/** A file of 70 MB in stretches: without a quote, with many, with long quoted fields, and some that look the same both ways. */
function mixedFile(): { csv: Buffer; starts: Set<number> } {
  const some: readonly (readonly [line: string, bytes: number])[] = [
    ['a,"b ""c"", d",e\n', 7 * mib],
    ["12345,a text,6\n", 19 * mib],
    [`1,"${"a line\n".repeat(mib / 4)}",b\n`, 9 * mib],
    ['",",","\n', 6 * mib],
    ['x,"",y\n', 9 * mib],
    ['"first\nsecond, with ""quotes""",5" pipe,z\r\n', 4 * mib],
    ["plain,line,\n", 16 * mib],
  ];
  const lines = some.flatMap(([line, bytes]) => Array<string>(Math.ceil(bytes / line.length)).fill(line));
  return { csv: Buffer.from(lines.join("")), starts: startsOf(lines) };
}

describe("the ranges of a file", () => {
  const { csv, starts } = mixedFile();

  test.each([5, 16, 17, 20, 33])(
    "of about %i MB begin where records begin, one after the other",
    async (size) => {
      const files = memoryFiles(new Map([[path, csv]]));
      const [file] = await Array.fromAsync(files.list("data/"));
      if (file === undefined) return expect.fail("there is no file");
      const borders = await csvBorders({ file, delimiter: "," }, size * mib, files);
      expect(borders.filter((border) => !starts.has(border))).toEqual([]);
      expect(borders).toEqual(borders.toSorted((a, b) => a - b));
      expect(borders.length).toBeGreaterThanOrEqual(Math.floor(csv.length / mib / (size + 9)) - 1);
      const lengths = [0, ...borders].map((from, index) => (borders[index] ?? csv.length) - from);
      expect(Math.min(...lengths)).toBeGreaterThan(0);
      expect(Math.max(...lengths)).toBeLessThan((size + 25) * mib);
    },
  );
});
