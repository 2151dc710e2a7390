import { createHash, hash } from "node:crypto";
import * as z from "zod";
import { defineCalculation } from "../engine/calculation/contract.ts";
import { type FileFact, type Files, releasePiece } from "../engine/calculation/files.ts";
import { CalculationError } from "../engine/model/errors.ts";
import { calculationLimits } from "../engine/model/limits.ts";

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
  byInput: true,
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

/** A file in the manifest. */
interface Entry {
  /** Relative to the folder of the source, so that copies of a folder have equal manifests. */
  readonly path: string;
  readonly bytes: number;
  /** 64 hex digits. */
  readonly sha256: string;
}

/** A line of the manifest with its line end; without the line end it is a leaf of the Merkle tree. */
const manifestLine = ({ path, bytes, sha256 }: Entry): string =>
  `${JSON.stringify({ path, bytes, sha256 })}\n`;

/** A file's path relative to the folder of the source: `c/sales/` and `c/sales/20` both give `2026/a.csv`. */
function pathBelow(source: string, path: string): string {
  const slash = source.lastIndexOf("/");
  return path.slice(slash === -1 ? source.length + 1 : slash + 1);
}

/**
 * Root of the Merkle tree over these leaves, in hex (RFC 6962, section 2.1). A leaf is SHA-256(0x00 ‖ bytes), a node
 * SHA-256(0x01 ‖ left ‖ right), so that no leaf passes for a node. The left side is the largest full tree with something
 * to its right. Without leaves the root is SHA-256 of nothing.
 */
export function merkleRoot(leaves: Iterable<Uint8Array>): string {
  // Full trees of decreasing size, like the ones in the binary number of leaves so far.
  const full: { readonly leaves: number; readonly hash: Buffer }[] = [];
  for (const leaf of leaves) {
    let right = { leaves: 1, hash: sha256(leafMark, leaf) };
    for (let left = full.at(-1); left?.leaves === right.leaves; left = full.at(-1)) {
      full.pop();
      right = { leaves: 2 * left.leaves, hash: sha256(nodeMark, left.hash, right.hash) };
    }
    full.push(right);
  }
  const last = full.pop();
  if (last === undefined) return sha256().toString("hex");
  return full.reduceRight((right, { hash }) => sha256(nodeMark, hash, right), last.hash).toString("hex");
}

const leafMark = Uint8Array.of(0);
const nodeMark = Uint8Array.of(1);

const sha256 = (...parts: readonly Uint8Array[]): Buffer => hash("sha256", Buffer.concat(parts), "buffer");

/** Failures that the message names; it counts the others. */
const namedMax = 5;

/** SHA-256 of each file, in hex and in their order. Tries all files, so that the error names all that cannot be read. */
async function hashFiles(facts: readonly FileFact[], files: Files): Promise<string[]> {
  const settled = await Promise.allSettled(facts.map((fact) => hashFile(fact, files)));
  const failures = settled.flatMap((one) => (one.status === "rejected" ? [one.reason as unknown] : []));
  const [first] = failures;
  if (first === undefined) return settled.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
  const other = failures.find((one) => !(one instanceof CalculationError));
  if (other !== undefined || failures.length === 1) throw other ?? first;
  const named = failures.slice(0, namedMax).map((one) => (one as CalculationError).message);
  const more = failures.length > namedMax ? `; and ${failures.length - namedMax} more` : "";
  const message = `${failures.length} files cannot be read: ${named.join("; ")}${more}`;
  throw new CalculationError((first as CalculationError).code, message);
}

/** Reads one piece at a time: a file of any size takes at most two pieces of memory. */
async function hashFile(fact: FileFact, files: Files): Promise<string> {
  const sum = createHash("sha256");
  for await (const piece of files.read(fact)) {
    sum.update(piece);
    releasePiece(piece);
  }
  return sum.digest("hex");
}
