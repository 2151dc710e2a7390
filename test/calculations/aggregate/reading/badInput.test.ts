import { gzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import type { ReadParams } from "../../../../src/calculations/aggregate/reading/readParams.ts";
import { readRange } from "../../../../src/calculations/aggregate/reading/readRange.ts";
import { memoryFiles } from "../../../support/memoryFiles.ts";
import { plan, readAll, readParams } from "./readAll.ts";

type Content = Uint8Array | string;

const read = (files: Readonly<Record<string, Content>>, wanted: string[], given: Partial<ReadParams> = {}) =>
  readAll(memoryFiles(new Map(Object.entries(files))), wanted, given);
const rowsOf = async (
  files: Readonly<Record<string, Content>>,
  wanted: string[],
  given: Partial<ReadParams> = {},
) => (await read(files, wanted, given)).rows;

const planOf = (
  files: Readonly<Record<string, Content>>,
  wanted: string[],
  given: Partial<ReadParams> = {},
) => plan(readParams(given), memoryFiles(new Map(Object.entries(files))), wanted);

describe("columns", () => {
  const prices = "id,unit price\n1,2\n";

  test.each([
    [["price"], "data/a.csv", prices, 'data/a.csv has no column "price"; it has id, "unit price"'],
    [["price"], "data/a.csv", "id,unit price", 'data/a.csv has no column "price"; it has id, "unit price"'],
    [
      ["x", "id", "c1"],
      "data/a.csv.gz",
      gzipSync(prices),
      'data/a.csv.gz has no columns "x", "c1"; it has id, "unit price"',
    ],
  ])(
    "%j that a file does not have are named by the plan, with those it has",
    async (wanted, path, text, message) => {
      await expect(planOf({ [path]: text }, wanted)).rejects.toMatchObject({ code: "no-column", message });
    },
  );

  test("columns that only a later file lacks are named with the first such file", async () => {
    const names = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k"];
    const files = Object.fromEntries(
      names.map((one) => [`data/${one}.csv`, one < "j" ? "x\n1\n" : "y\n1\n"]),
    );
    const message = 'data/j.csv has no column "x"; it has y';
    await expect(planOf(files, ["x"])).rejects.toMatchObject({ code: "no-column", message });
  });

  test("wanted columns are not required in files without a record, nor in NDJSON lines", async () => {
    const files = { "data/a.csv": "", "data/b.csv": "\n\n", "data/c.ndjson": '{"y":1}\n' };
    expect((await planOf(files, ["x"])).map(({ file }) => file.path)).toEqual(["data/c.ndjson"]);
    expect(await rowsOf(files, ["x"])).toEqual([[null]]);
  });

  test("columns are found in each file, whatever their order", async () => {
    const files = { "data/a.csv": "x,y\n1,2\n", "data/b.csv": "y,z,x\n3,4,5\n" };
    expect(await rowsOf(files, ["x", "y"])).toEqual([
      ["1", "2"],
      ["5", "3"],
    ]);
  });

  test("two columns of one name are refused only if they are wanted", async () => {
    const files = { "data/a.csv": "x,y,x\n1,2,3\n" };
    expect(await rowsOf(files, ["y"])).toEqual([["2"]]);
    const why = {
      code: "ambiguous-column",
      message: expect.stringMatching(/^data\/a.csv has two columns "x"/),
    };
    await expect(planOf(files, ["x"])).rejects.toMatchObject(why);
  });

  test("columns without a header are named c1, c2, …", async () => {
    expect(await rowsOf({ "data/a.csv": "\n1,2\n3,4" }, ["c2"], { header: false })).toEqual([["2"], ["4"]]);
  });

  test("more column names than a chunk's input can hold are refused", async () => {
    const header = Array.from({ length: 9_000 }, (_, index) => `column${index}`).join(",");
    await expect(read({ "data/a.csv": header }, [])).rejects.toThrow(/its 9000 column names take \d+ bytes/);
  });

  test("columns may have any name, even with quotes, line breaks and after a byte order mark", async () => {
    expect(await rowsOf({ "data/a.csv": '\uFEFF"a ""b""\r\nc",d\n1,2\n' }, ['a "b"\r\nc'])).toEqual([["1"]]);
  });
});

describe("files", () => {
  test("a source without files is refused", async () => {
    await expect(read({ "other/a.csv": "a" }, ["a"])).rejects.toThrow("no file begins with data/");
  });

  test("files without a record give no rows", async () => {
    const files = { "data/a.csv": "", "data/b.csv": "x\n", "data/c.csv": "\n\r\n\n", "data/d.csv": "\uFEFF" };
    expect(await rowsOf({ ...files, "data/e.ndjson": "\n", "data/f.csv.gz": gzipSync("") }, ["x"])).toEqual(
      [],
    );
  });

  test("files whose extension tells no format are refused unless the format is given", async () => {
    const files = { "data/part-0001": "x\n1\n" };
    await expect(read(files, ["x"])).rejects.toThrow("data/part-0001: its extension is none of .csv");
    expect(await rowsOf(files, ["x"], { format: "csv" })).toEqual([["1"]]);
  });

  test("files with any allowed delimiter are read", async () => {
    expect(await rowsOf({ "data/a.tsv": "x\ty,z\n1\t2,3" }, ["y,z"])).toEqual([["2,3"]]);
    expect(await rowsOf({ "data/a.TXT": "x|y\n1|2" }, ["y"], { delimiter: "|" })).toEqual([["2"]]);
    expect(await rowsOf({ "data/a.csv": "x\ty\n1\t2" }, ["y"], { delimiter: "tab" })).toEqual([["2"]]);
    for (const delimiter of "\t !#$%&'()*+,./:;<=>?@[\\]^_`{|}~") {
      const content = { "data/a.csv": `x${delimiter}y\n1${delimiter}2` };
      expect(await rowsOf(content, ["y"], { delimiter }), delimiter).toEqual([["2"]]);
    }
  });

  test.each([
    ["deleted", undefined, "data/a.csv"],
    ["changed", "x\n2\n", "data/a.csv"],
  ])("%s between plan and compute fail the chunk by that reason", async (what, later, path) => {
    const content = new Map<string, Content>([[path, "x\n1\n"]]);
    const files = memoryFiles(content);
    const [range] = await plan(readParams(), files);
    if (range === undefined) throw new Error("no range");
    if (later === undefined) content.delete(path);
    else content.set(path, later);
    const code = what === "deleted" ? "file-missing" : "file-changed";
    await expect(
      readRange(range, { params: readParams(), files, wanted: ["x"] }, () => {}),
    ).rejects.toMatchObject({ code });
  });
});

describe("records", () => {
  const ragged = { "data/a.csv": 'x,y\r\n1,2\r\n\r\n"é\n"\r\n3,4,5\r\n6,7' };

  test("records with a wrong number of fields fail with their offset", async () => {
    const why = "data/a.csv: the record at byte 12 has 1 field, not 2; with --ragged skip";
    await expect(read(ragged, ["x"])).rejects.toThrow(why);
  });

  test("records with a wrong number of fields are skipped and counted under that policy", async () => {
    const { rows, offsets, reports } = await read(ragged, ["x"], { ragged: "skip" });
    expect(rows).toEqual([["1"], ["6"]]);
    expect(offsets).toEqual([5, 26]);
    expect(reports).toEqual([
      {
        absent: [],
        records: 2,
        bytes: 24,
        skipped: 2,
        offenders: [
          { path: "data/a.csv", offset: 12, what: "has 1 field, not 2" },
          { path: "data/a.csv", offset: 19, what: "has 3 fields, not 2" },
        ],
      },
    ]);
  });

  test("empty records of one column are skipped", async () => {
    expect(await rowsOf({ "data/a.csv": "x\n1\n\n2\n" }, ["x"])).toEqual([["1"], ["2"]]);
  });

  test("records longer than a range are read whole and once", async () => {
    const long = "z".repeat(5_000);
    const csv = `x,y\n1,${long}\n2,b\n3,"${long}\n"\n4,d`;
    for (const quotedNewlines of [true, false]) {
      const text = quotedNewlines ? csv : csv.replace('\n"', '"');
      const given = { chunkBytes: 100, quotedNewlines };
      expect(await rowsOf({ "data/a.csv": text }, ["x"], given)).toEqual([["1"], ["2"], ["3"], ["4"]]);
    }
  });

  test.each([true, false])(
    "records belong to the range in which they begin (quotedNewlines %s)",
    async (quotedNewlines) => {
      const files = { "data/a.csv": `x,y\n${"1,234567\n".repeat(8)}` };
      const { reports } = await read(files, ["x"], { chunkBytes: 18, quotedNewlines });
      expect(reports.map(({ records }) => records)).toEqual([2, 2, 2, 2]);
    },
  );

  test.each(["a.csv", "a.ndjson", "a.csv.gz"])("records above the limit are refused in %s", async (name) => {
    const text = `x\n${"z".repeat(17 * 1024 ** 2)}\n`;
    const bytes = name.endsWith(".gz") ? gzipSync(text, { level: 1 }) : text;
    const why = /no record ends within 16 MB, the limit of a record/;
    await expect(read({ [`data/${name}`]: bytes }, ["x"])).rejects.toThrow(why);
  });

  test("fields without a quote at their start may hold quotes", async () => {
    const inches = 'x,y\n5" pipe,3\'4"\n2 ""x"",b\n';
    expect(await rowsOf({ "data/a.csv": inches }, ["x", "y"], { chunkBytes: 3 })).toEqual([
      ['5" pipe', "3'4\""],
      ['2 ""x""', "b"],
    ]);
  });

  test("records with text after a closing quote are refused with the offset", async () => {
    const why = "data/a.csv: byte 9 follows the closing quote of the field that opens at byte 4";
    await expect(read({ "data/a.csv": 'x,y\n"abc"d,2\n' }, ["x"])).rejects.toThrow(why);
  });

  test("records that end with carriage returns only are refused", async () => {
    await expect(read({ "data/a.csv": "x,y\r1,2\r3,4" }, ["x"])).rejects.toThrow(/carriage returns only/);
  });

  test("records with a line break in a field are refused under --quoted-newlines false", async () => {
    const files = { "data/a.csv": 'x,y\n1,"a\nb"\n2,c\n' };
    await expect(read(files, ["x"], { quotedNewlines: false, chunkBytes: 5 })).rejects.toThrow(
      "data/a.csv: the field that opens at byte 6 holds a line break or is never closed; leave out --quoted-newlines false",
    );
  });
});

describe("bytes that are not UTF-8", () => {
  test.each([
    ["in a record", [..."x,y\n\uFFFD,é\n1,"], 13],
    ["in the header", [..."x,"], 2],
  ])("%s are refused with their place", async (_where, before, offset) => {
    const bytes = Buffer.concat([Buffer.from(before.join("")), Buffer.from([0xe9, 0x0a])]);
    const why = `data/a.csv: byte ${offset} is not UTF-8`;
    await expect(read({ "data/a.csv": bytes }, ["x"])).rejects.toThrow(why);
  });

  test("bytes that are not UTF-8 are refused in NDJSON", async () => {
    const bytes = Buffer.from([...Buffer.from('{"a":"'), 0xff, ...Buffer.from('"}')]);
    await expect(read({ "data/a.jsonl": bytes }, ["a"])).rejects.toThrow("data/a.jsonl: byte 6 is not UTF-8");
  });
});

describe("gzip", () => {
  const csv = `x,y\n${Array.from({ length: 2_000 }, (_, index) => `${index},"text ${index}\n"\n`).join("")}`;
  const zipped = gzipSync(csv);

  test("gzip of one or several members is decompressed", async () => {
    const members = Buffer.concat([gzipSync(csv.slice(0, 7_777)), gzipSync(csv.slice(7_777))]);
    const plain = await rowsOf({ "data/a.csv": csv }, ["y", "x"]);
    expect(await rowsOf({ "data/a.csv.gz": zipped }, ["y", "x"], { chunkBytes: 100 })).toEqual(plain);
    expect(await rowsOf({ "data/a.csv.gz": members }, ["y", "x"], { quotedNewlines: false })).toEqual(plain);
    const lines = gzipSync('\uFEFF{"x":1}\n{"x":2}');
    expect(await rowsOf({ "data/a.ndjson.gz": lines }, ["x"])).toEqual([[1], [2]]);
  });

  test.each([
    ["cut", zipped.subarray(0, zipped.length - 100), "unexpected end of file"],
    ["cut in its trailer", zipped.subarray(0, zipped.length - 3), "unexpected end of file"],
    [
      "damaged",
      zipped.map((byte, at) => (at === zipped.length - 6 ? byte ^ 1 : byte)),
      "incorrect data check",
    ],
    ["no gzip at all", csv, "incorrect header check"],
  ])("that is %s is refused", async (_what, bytes, why) => {
    await expect(read({ "data/a.csv.gz": bytes }, ["x"])).rejects.toThrow(
      `data/a.csv.gz is cut or damaged: gzip says ${why}`,
    );
  });

  test.each([1, 100, 5_000])("zeros behind gzip are ignored in reads of %i bytes", async (pieceBytes) => {
    const bytes = Buffer.concat([gzipSync("x\n1\n"), Buffer.alloc(3_000)]);
    const files = memoryFiles(new Map([["data/a.csv.gz", bytes]]), pieceBytes);
    expect((await readAll(files, ["x"])).rows).toEqual([["1"]]);
  });

  test.each([1, 100, 5_000])(
    "gzip content behind zeros is refused and not left out, in reads of %i bytes",
    async (pieceBytes) => {
      const member = gzipSync("x\n1\n");
      const next = gzipSync("2\n");
      // The second one as a member behind padding, and as one whose first byte was lost.
      for (const [more, at] of [
        [Buffer.concat([Buffer.alloc(300), next]), member.length + 300],
        [next.with(0, 0), member.length + 1],
      ] as const) {
        const content = new Map([["data/a.csv.gz", Buffer.concat([member, more])]]);
        await expect(readAll(memoryFiles(content, pieceBytes), ["x"])).rejects.toMatchObject({
          code: "bad-gzip",
          message: `data/a.csv.gz is cut or damaged: byte ${at} follows zeros that end its content`,
        });
      }
    },
  );

  test("a gzip file that changed since the plan fails for that reason", async () => {
    const content = new Map<string, Content>([["data/a.csv.gz", zipped]]);
    const files = memoryFiles(content, 100);
    const [range] = await plan(readParams(), files);
    content.set("data/a.csv.gz", gzipSync("x\n"));
    if (range === undefined) throw new Error("no range");
    await expect(
      readRange(range, { params: readParams(), files, wanted: ["x"] }, () => {}),
    ).rejects.toMatchObject({
      code: "file-changed",
    });
  });
});

describe("NDJSON", () => {
  test("NDJSON values are kept, nested ones as JSON and missing ones as null", async () => {
    const text = '\uFEFF{"a":1,"b":{"c":[2]},"__proto__":"p"}\r\n\n{"b":true,"a":"x\\ny"}\n{}';
    const wanted = ["a", "b", "__proto__", "constructor"];
    expect(await rowsOf({ "data/a.ndjson": text }, wanted)).toEqual([
      [1, '{"c":[2]}', "p", null],
      ["x\ny", true, null, null],
      [null, null, null, null],
    ]);
  });

  test.each(["[1]", "1", "null", "{", '{"a":1}}', "x"])(
    "refuses or skips a line that is %s",
    async (line) => {
      const files = { "data/a.ndjson": `{"a":"é"}\n${line}\n{"a":2}` };
      await expect(read(files, ["a"])).rejects.toThrow(
        "data/a.ndjson: the record at byte 11 is not a JSON object",
      );
      const { rows, reports } = await read(files, ["a"], { ragged: "skip" });
      expect(rows).toEqual([["é"], [2]]);
      expect(reports[0]?.skipped).toBe(1);
    },
  );
});
