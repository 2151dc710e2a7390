import { CalculationError } from "../../model/errors.ts";
import { calculationLimits } from "../../model/limits.ts";
import type { FileFact, Files } from "../files.ts";
import { manifestLine, pathBelow } from "./manifest.ts";

/** Files of one manifest: it is one result, and its lines travel in the partials. */
export const inventoryFilesMax = 100_000;

/** Bytes hashed in one chunk of several files; a larger file is a chunk of its own. */
const batchBytes = 8 * 1024 * 1024;

/** Room for names beside the rest of an input. */
const inputBytes = calculationLimits.inputBytesMax / 2;

/**
 * The files of a source in the order of their paths as UTF-8, in batches of at most `batch` small ones. Throws
 * `CalculationError` where there are none, or more than a manifest takes.
 */
export async function planBatches(source: string, batch: number, files: Files): Promise<FileFact[][]> {
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
  return batchesOf(
    listed.map(({ file }) => file),
    batch,
  );
}

function batchesOf(files: readonly FileFact[], batch: number): FileFact[][] {
  const batches: FileFact[][] = [];
  let [open, bytes, names]: [FileFact[], number, number] = [[], 0, 0];
  for (const file of files) {
    const name = Buffer.byteLength(JSON.stringify(file));
    const full = open.length === batch || bytes + file.bytes > batchBytes || names + name > inputBytes;
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
  const cure = "take a longer prefix, and one run for each";
  if (files > inventoryFilesMax) {
    const message = `${source} has more than ${inventoryFilesMax} files, the limit of one inventory; ${cure}`;
    throw new CalculationError("too-many-files", message);
  }
  if (manifestBytes <= calculationLimits.partialBytesMax) return;
  const message =
    `the manifest of ${source} is larger than ${calculationLimits.partialBytesMax} bytes (partialBytesMax) ` +
    `after ${files} files; ${cure}`;
  throw new CalculationError("too-many-files", message);
}
