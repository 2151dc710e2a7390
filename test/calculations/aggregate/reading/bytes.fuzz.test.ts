import { gzipSync } from "node:zlib";
import fc from "fast-check";
import { expect, test } from "vitest";
import { CalculationError } from "../../../../src/model/errors.ts";
import { fuzzRuns } from "../../../support/fuzzRuns.ts";
import { memoryFiles } from "../../../support/memoryFiles.ts";
import { readAll } from "./readAll.ts";

const runs = fuzzRuns(400, 20_000);

const token = fc.constantFrom(
  ...[
    "x",
    "y",
    ",",
    "\n",
    "\r",
    '"',
    "{",
    "}",
    "[",
    "]",
    ":",
    '{"x":1}',
    "null",
    "1e999",
    "\\u00",
    "\uFEFF",
    "\0",
  ],
);
const text = fc.array(token, { maxLength: 40 }).map((tokens) => Buffer.from(tokens.join("")));
const plain = fc.oneof(
  text,
  fc.uint8Array({ maxLength: 120 }).map((bytes) => Buffer.from(bytes)),
);

/** Whole, cut off, with a bit turned, with something behind it, or not packed at all. */
const packed = fc.tuple(plain, fc.nat(4), fc.nat(200)).map(([bytes, how, at]) => {
  const gzip = gzipSync(bytes);
  if (how === 0) return gzip.subarray(0, at % gzip.length);
  if (how === 1) return Buffer.from(gzip.with(at % gzip.length, 1 ^ (gzip[at % gzip.length] ?? 0)));
  if (how === 2) return Buffer.concat([gzip, bytes]);
  return how === 3 ? bytes : gzip;
});

test.each([
  ["data/a.csv", plain],
  ["data/a.ndjson", plain],
  ["data/a.csv.gz", packed],
  ["data/a.ndjson.gz", packed],
] as const)("whatever bytes %s has, it is read or fails with an error that names it", async (name, bytes) => {
  await fc.assert(
    fc.asyncProperty(
      bytes,
      fc.constantFrom("fail" as const, "skip" as const),
      fc.integer({ min: 1, max: 60 }),
      async (body, ragged, chunkBytes) => {
        try {
          await readAll(memoryFiles(new Map([[name, body]])), ["x"], { ragged, chunkBytes });
        } catch (error) {
          expect(error).toBeInstanceOf(CalculationError);
          expect((error as Error).message).toMatch(/data\/|x/);
        }
      },
    ),
    runs,
  );
});
