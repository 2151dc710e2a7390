import { createHash } from "node:crypto";
import { defineCalculation, z } from "leasefold";

interface Entry {
  readonly path: string;
  readonly bytes: number;
  readonly sha256: string;
}

/** SHA-256 of each file of a folder as NDJSON. The last line has their number, their bytes and a hash of the lines above it. */
// biome-ignore lint/style/noDefaultExport: a user's calculation file exports its calculation so.
export default defineCalculation({
  name: "inventory",
  summary: "hashes of all files under a prefix, as NDJSON",
  // What compute gives depends on the file alone, so submit --reuse takes it from an earlier run.
  byInput: true,
  params: z.strictObject({
    source: z.string().describe("container/prefix of the files, such as leasefold-inputs/sales/"),
  }),
  async *plan({ source }, { files }) {
    for await (const file of files.list(source)) yield file;
  },
  async compute({ input: file, files }): Promise<Entry[]> {
    const sum = createHash("sha256");
    // One piece at a time, so that a file of any size takes little memory.
    for await (const bytes of files.read(file)) sum.update(bytes);
    return [{ path: file.path, bytes: file.bytes, sha256: sum.digest("hex") }];
  },
  merge: (a, b) => [...a, ...b],
  zero: (): Entry[] => [],
  finish(entries, { folded, count }) {
    const lines = entries.map((entry) => `${JSON.stringify(entry)}\n`).join("");
    const summary = {
      files: entries.length,
      bytes: entries.reduce((sum, { bytes }) => sum + bytes, 0),
      sha256: createHash("sha256").update(lines).digest("hex"),
      ...(folded === count ? {} : { missingFiles: count - folded }),
    };
    const body = Buffer.from(`${lines}${JSON.stringify(summary)}\n`);
    return { body, contentType: "application/x-ndjson", extension: "ndjson" };
  },
});
