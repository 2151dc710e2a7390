import * as z from "zod";
import { defineCalculation } from "./contract.ts";
import type { FileFact } from "./files.ts";
import { hashFiles, manifestLine, merkleRoot, pathBelow } from "./inventory/manifest.ts";
import { planBatches } from "./inventory/planBatches.ts";

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
 * `{"files", "bytes", "merkleRoot"}`. The root is over the lines above it, each without its line end. Where chunks are
 * missing it is null, and `missingChunks` tells how many.
 *
 * The partial is those lines as text: to append them is exactly associative, whatever the packs.
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
    const missing = count - folded;
    const summary = {
      files: lines.length,
      bytes,
      merkleRoot: missing === 0 ? merkleRoot(lines.map((line) => Buffer.from(line))) : null,
      ...(missing === 0 ? {} : { missingChunks: missing }),
    };
    const body = Buffer.from(`${manifest}${JSON.stringify(summary)}\n`);
    return { body, contentType: "application/x-ndjson", extension: "ndjson" };
  },
});
