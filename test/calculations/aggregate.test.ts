import { describe, expect, test } from "vitest";
import { aggregate } from "../../src/calculations/aggregate.ts";
import type { CoveringPart } from "../../src/calculations/foldParts.ts";
import { runSerially } from "../../src/calculations/leasefold.ts";
import { parseParams } from "../../src/calculations/params.ts";
import { runFinish, runPlan } from "../../src/calculations/runJob.ts";
import { computePart, foldPart } from "../support/coveringParts.ts";
import { lineitemCsv } from "../support/lineitem.ts";
import { memoryFiles } from "../support/memoryFiles.ts";

const given = (raw: Record<string, unknown>): unknown => parseParams(aggregate, { source: "data/", ...raw });

async function textOf(content: Record<string, string>, raw: Record<string, unknown>): Promise<string> {
  const files = memoryFiles(new Map(Object.entries(content)));
  return Buffer.from((await runSerially(aggregate, given(raw), files)).body).toString();
}

describe("parameters", () => {
  test.each([
    [{ aggregates: "sum(" }, "aggregates", "aggregates: position 5: expected a column, found the end"],
    [{ aggregates: "" }, "aggregates", "aggregates: position 1: expected one of count sum"],
    [{ by: "a,a" }, "by", "by: position 3: a is listed twice"],
    [{ where: "a >" }, "where", "where: position 4: expected a number"],
    [{ where: `a = '${"x".repeat(5000)}'` }, "where", /^where: .*4000/],
    [{ nulls: "NA,,-" }, "nulls", "nulls: position 4: expected a text, found"],
    [{ nulls: "NA,NA" }, "nulls", "nulls: position 4: NA is listed twice"],
    [{ badNumbers: "ignore" }, "badNumbers", /^badNumbers: .*fail.*skip/],
    [{ delimiter: "-" }, "delimiter", /quote or dash/],
    [{ resultFormat: "xlsx" }, "resultFormat", /^resultFormat: .*csv/],
    [
      { by: "total", aggregates: "count as total" },
      "aggregates",
      "aggregates: total is the name of a key column",
    ],
  ])("the parameters %j are refused with the name of the wrong one", (raw, field, message) => {
    expect(() => given(raw)).toThrow(
      expect.objectContaining({ code: "bad-parameter", details: expect.objectContaining({ field }) }),
    );
    expect(() => given(raw)).toThrow(message);
  });

  test("aggregate counts the records by default", async () => {
    const content = { "data/a.csv": "x,y\n1,2\n3,4\n", "data/b.csv": "x,y\n5,6\n" };
    expect(JSON.parse(await textOf(content, {}))).toEqual({
      rows: [{ count: 3 }],
      report: {
        records: 3,
        bytes: expect.any(Number),
        selected: 3,
        groups: 1,
        skipped: { count: 0, first: [] },
        badNumbers: { count: 0, first: [] },
      },
    });
  });
});

describe("aggregate", () => {
  test("aggregate makes one CSV table of the CSV and NDJSON files of a prefix", async () => {
    const content = {
      "data/1.csv": 'city,"sales, net"\r\nOslo,10.10\r\nBergen,\r\n"Ål, gård",3\r\n',
      "data/2.csv": 'city,"sales, net"\nOslo,0.25\nBergen,7',
      "data/3.ndjson": '{"city":"Oslo","sales, net":1.5}\n{"city":"Bergen"}\n',
    };
    const raw = { by: "city", aggregates: 'count,sum("sales, net") as sales', resultFormat: "csv" };
    expect(await textOf(content, raw)).toBe('city,count,sales\nBergen,3,7\nOslo,3,11.85\n"Ål, gård",1,3\n');
  });

  test("the error for a bad number names the file and the byte, and suggests a fix", async () => {
    const content = { "data/a.csv": "k,v\na,1\nb,two\n" };
    await expect(textOf(content, { aggregates: "sum(v)" })).rejects.toMatchObject({
      code: "bad-number",
      message: expect.stringMatching(
        /^chunk 0: data\/a\.csv, record at byte 8: v is text like "aaa" .*, which is no number; /,
      ),
    });
  });

  test("the texts in nulls count as empty in CSV, quoted or not, and in NDJSON they stay texts", async () => {
    const csv = 'k,v,w\na,1,NA\nb,NA,null\nNA,"NA",x\nc,\\N,-\nd,"a,b",NAN\n';
    const content = { "data/a.csv": csv, "data/b.ndjson": '{"k":"NA","v":5,"w":"-"}\n' };
    const raw = { nulls: 'NA, null,-,\\N,"a,b"', resultFormat: "csv" };
    const aggregates = "count,count(v),sum(v),count(w),maxtext(w),distinct(k)";
    expect(await textOf(content, { ...raw, aggregates })).toMatch(/\n6,2,6,3,x,5\n$/);
    const where = "k is null";
    expect(await textOf(content, { ...raw, where })).toBe("count\n1\n");
    expect(await textOf(content, { ...raw, by: "k" })).toBe("k,count\n,1\nNA,1\na,1\nb,1\nc,1\nd,1\n");
  });

  test("the error for a bad number suggests nulls", async () => {
    const content = { "data/a.csv": "v\n1\nNA\n" };
    const given = { aggregates: "sum(v)", resultFormat: "csv" };
    await expect(textOf(content, given)).rejects.toThrow("--nulls NA counts that text in CSV as empty");
    expect(await textOf(content, { ...given, nulls: "NA" })).toBe("sum(v)\n1\n");
  });

  test("parameters of a run from before there were nulls are read", async () => {
    const { nulls: _, ...older } = given({}) as Record<string, unknown>;
    const files = memoryFiles(new Map([["data/a.csv", "v\nNA\n"]]));
    expect(
      JSON.parse(Buffer.from((await runSerially(aggregate, older, files)).body).toString()),
    ).toMatchObject({
      rows: [{ count: 1 }],
    });
  });

  test("a plan fails if a file lacks a column of the key, the aggregates or the filter", async () => {
    const files = memoryFiles(new Map([["data/a.csv", "k,v\na,1\n"]]));
    const params = given({ by: "k,shop", aggregates: "sum(price)", where: "v > 0 and day is null" });
    await expect(runPlan(aggregate, params, async () => {}, { files })).rejects.toMatchObject({
      code: "no-column",
      message: 'data/a.csv has no columns "shop", "price", "day"; it has k, v',
    });
  });

  test("a run fails if no NDJSON record has a wanted column, unless the parameters allow it", async () => {
    const content = { "data/1.jsonl": '{"a":1}\n{"a":2,"b":null}\n', "data/2.jsonl": '{"a":3}\n' };
    const raw = { aggregates: "sum(a),count(b),sum(o.p)", where: "a > 0 or amuont > 0" };
    await expect(textOf(content, raw)).rejects.toMatchObject({
      code: "no-column",
      message:
        'none of 3 records under data/ has "o.p", "amuont"; with --absent-columns empty that counts as empty',
    });
    expect(JSON.parse(await textOf(content, { ...raw, absentColumns: "empty" }))).toMatchObject({
      rows: [{ "sum(a)": 6, "count(b)": 0, "sum(o.p)": null }],
      report: { absent: ["o.p", "amuont"] },
    });
    expect(await textOf(content, { aggregates: "sum(a),count(b)", resultFormat: "csv" })).toMatch(/6,0\n$/);
  });

  test("an answer so far does not report columns that later chunks may have", async () => {
    const files = memoryFiles(new Map([["data/1.jsonl", '{"a":1}\n']]));
    const params = given({ aggregates: "sum(b)" });
    const inputs: unknown[] = [];
    await runPlan(aggregate, params, async (batch) => void inputs.push(...batch), { files });
    const part = await computePart(aggregate, { params, from: 0, to: 1, count: 2, inputs }, files);
    const soFar = await runFinish(aggregate, { params, parts: [part], folded: 1, count: 2 });
    expect(JSON.parse(Buffer.from(soFar.body).toString())).toMatchObject({ report: { absent: ["b"] } });
    await expect(runFinish(aggregate, { params, parts: [part], folded: 2, count: 2 })).rejects.toThrow(
      'has "b"',
    );
  });

  test("UTF-16 without a byte order mark is refused, even if no column is read", async () => {
    const swapped = Buffer.from("a,b\n1,2\n", "utf16le").swap16();
    const files = memoryFiles(new Map([["data/a.csv", swapped]]));
    await expect(runSerially(aggregate, given({}), files)).rejects.toThrow("as UTF-16 has; convert");
  });

  test("aggregate gives the bytes of a serial run for any packs and any tree", async () => {
    const files = memoryFiles(new Map([["data/l.csv", [...lineitemCsv(5_000, 7)].join("")]]));
    const params = given({
      by: "shipmode,returnflag",
      aggregates:
        "count,sum(charge),variance(tax),distinct(partkey),p90(quantity),top(shipinstruct,2),maxtext(shipdate)",
      where: "discount < 0.09",
      chunkBytes: 65_536,
      resultFormat: "csv",
    });
    const inputs: unknown[] = [];
    const { chunks } = await runPlan(aggregate, params, async (batch) => void inputs.push(...batch), {
      files,
    });
    expect(chunks).toBeGreaterThan(8);
    const serial = Buffer.from((await runSerially(aggregate, params, files)).body).toString();
    for (const packs of [[1, 1, 1], [5], [2, 3, 4]]) {
      const parts: CoveringPart[] = [];
      for (let from = 0, turn = 0; from < chunks; turn++) {
        const to = Math.min(chunks, from + (packs[turn % packs.length] as number));
        const job = { params, from, to, count: chunks, inputs: inputs.slice(from, to) };
        parts.push(await computePart(aggregate, job, files));
        from = to;
      }
      const middle = Math.ceil(parts.length / 3);
      const nodes = [
        await foldPart(aggregate, params, parts.slice(0, middle) as [CoveringPart]),
        await foldPart(aggregate, params, parts.slice(middle) as [CoveringPart]),
      ];
      const { body } = await runFinish(aggregate, { params, parts: nodes, folded: chunks, count: chunks });
      expect(Buffer.from(body).toString()).toBe(serial);
    }
  });

  test("a run without chunks has an empty total", async () => {
    const params = given({ aggregates: "count,sum(x)", resultFormat: "csv" });
    const { body } = await runFinish(aggregate, { params, parts: [], folded: 0, count: 0 });
    expect(Buffer.from(body).toString()).toBe("count,sum(x)\n0,\n");
  });
});
