import * as z from "zod";
import { CalculationError } from "../model/errors.ts";
import { calculationLimits } from "../model/limits.ts";
import { defineCalculation } from "./contract.ts";
import type { FileFact, Files } from "./files.ts";
import { hashFiles, manifestLine, merkleRoot, pathBelow } from "./inventory/manifest.ts";

const params = z.strictObject({
  source: z
    .string()
    .min(1)
    .max(1_100)
    .describe("container/prefix of the files, such as leasefold-inputs/sales/; up to 100,000 of them"),
  batch: z.coerce
    .number()
    .int()
    .min(1)
    .max(256)
    .default(16)
    .describe("small files that make one chunk at most; the result does not depend on it"),
});
type Params = z.infer<typeof params>;

/**
 * A manifest of files as NDJSON: `{"path", "bytes", "sha256"}` for each, sorted by path as UTF-8, and a last line
 * `{"files", "bytes", "merkleRoot"}`. The root covers the lines above it, each without its line end. If chunks are
 * missing, it is null and `missingChunks` tells how many.
 *
 * A partial is some of those lines as text, so appending partials is exactly associative.
 */
export const inventory = defineCalculation<Params, readonly FileFact[], string>({
  name: "inventory",
  version: "1",
  summary: "SHA-256 of every file under a prefix, with a Merkle root, as NDJSON",
  params,
  plan: ({ source, batch }, { files }) => planBatches(source, batch, files),
  async compute({ input, params: { source }, files }) {
    const hashes = await hashFiles(input, files);
    return input
      .map(({ path, bytes }, index) =>
        manifestLine({ path: pathBelow(source, path), bytes, sha256: hashes[index] as string }),
      )
      .join("");
  },
  merge: (a, b) => a + b,
  zero: () => "",
  codec: {
    contentType: "application/x-ndjson",
    encode: (lines) => Buffer.from(lines),
    decode: (bytes) => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString(),
  },
  finish(manifest, { folded, count }) {
    const lines = manifest.split("\n").slice(0, -1);
    const bytes = lines.reduce((sum, line) => sum + (JSON.parse(line) as { bytes: number }).bytes, 0);
    const complete = folded === count;
    const summary = {
      files: lines.length,
      bytes,
      merkleRoot: complete ? merkleRoot(lines.map((line) => Buffer.from(line))) : null,
      ...(complete ? {} : { missingChunks: count - folded }),
    };
    const body = Buffer.from(`${manifest}${JSON.stringify(summary)}\n`);
    return { body, contentType: "application/x-ndjson", extension: "ndjson" };
  },
});

/** Files of one manifest: it is one result, and its lines travel in the partials. */
export const inventoryFilesMax = 100_000;

/** Bytes hashed in one chunk of several files; a larger file is a chunk of its own. */
const batchBytes = 8 * 1024 * 1024;

/** Bytes of the file names in one input; the rest of an input needs room too. */
const namesBytes = calculationLimits.inputBytesMax / 2;

/**
 * The files of a source in the order of their paths as UTF-8, in batches of at most `batch` small ones. Throws
 * `CalculationError` without files, and with more than a manifest can list.
 */
async function planBatches(source: string, batch: number, files: Files): Promise<FileFact[][]> {
  const listed: { readonly file: FileFact; readonly key: Buffer }[] = [];
  let manifestBytes = 0;
  for await (const file of files.list(source)) {
    const path = pathBelow(source, file.path);
    listed.push({ file, key: Buffer.from(path) });
    manifestBytes += Buffer.byteLength(manifestLine({ path, bytes: file.bytes, sha256: "0".repeat(64) }));
    checkSize(source, listed.length, manifestBytes);
  }
  if (listed.length === 0) {
    const message = `no file begins with ${source}; "leasefold upload" prints the source of what it uploaded`;
    throw new CalculationError("empty-source", message);
  }
  listed.sort((a, b) => Buffer.compare(a.key, b.key));
  const batches: FileFact[][] = [];
  let [open, bytes, names]: [FileFact[], number, number] = [[], 0, 0];
  for (const { file } of listed) {
    const name = Buffer.byteLength(JSON.stringify(file));
    const full = open.length === batch || bytes + file.bytes > batchBytes || names + name > namesBytes;
    if (full && open.length > 0) {
      batches.push(open);
      [open, bytes, names] = [[], 0, 0];
    }
    open.push(file);
    bytes += file.bytes;
    names += name;
  }
  batches.push(open);
  return batches;
}

function checkSize(source: string, files: number, manifestBytes: number): void {
  const { partialBytesMax } = calculationLimits;
  if (files <= inventoryFilesMax && manifestBytes <= partialBytesMax) return;
  const what =
    files > inventoryFilesMax
      ? `${source} has more than ${inventoryFilesMax} files, the limit of one inventory`
      : `the manifest of ${source} is larger than ${partialBytesMax} bytes (partialBytesMax) after ${files} files`;
  throw new CalculationError("too-many-files", `${what}; start one run for each longer prefix`);
}
