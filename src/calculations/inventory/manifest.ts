import { createHash } from "node:crypto";
import { CalculationError } from "../../model/errors.ts";
import type { FileFact, Files } from "../files.ts";

/** A file in the manifest. */
export interface Entry {
  /** Below the folder of the source, so that copies of a folder have equal manifests wherever they are. */
  readonly path: string;
  readonly bytes: number;
  /** 64 hex digits. */
  readonly sha256: string;
}

/** One line of the manifest with its end; without the end it is the leaf of the Merkle tree. */
export const manifestLine = ({ path, bytes, sha256 }: Entry): string =>
  `${JSON.stringify({ path, bytes, sha256 })}\n`;

/** The part of a file's path below the folder of the source: `c/sales/` and `c/sales/20` both give `2026/a.csv`. */
export function pathBelow(source: string, path: string): string {
  const slash = source.lastIndexOf("/");
  return path.slice(slash === -1 ? source.length + 1 : slash + 1);
}

/**
 * Root of the Merkle tree over these leaves, in hex, as RFC 6962 (section 2.1) defines it: a leaf is
 * SHA-256(0x00 ‖ bytes), a node SHA-256(0x01 ‖ left ‖ right), the left side is the largest full tree that leaves
 * something to the right, and no leaves at all give SHA-256 of nothing. The marks keep a leaf from passing for a node.
 */
export function merkleRoot(leaves: Iterable<Uint8Array>): string {
  // Full trees of shrinking size, as the ones in the binary number of leaves so far.
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

function sha256(...parts: readonly Uint8Array[]): Buffer {
  const hash = createHash("sha256");
  for (const part of parts) hash.update(part);
  return hash.digest();
}

/** Failures told by name; the number tells of the others. */
const namedMax = 5;

/**
 * SHA-256 of each file, in hex and in their order. All of them are tried, so that the error names every path that
 * cannot be read, and not only the first.
 */
export async function hashFiles(facts: readonly FileFact[], files: Files): Promise<string[]> {
  const settled = await Promise.allSettled(facts.map((fact) => hashFile(fact, files)));
  const failures = settled.flatMap((one) => (one.status === "rejected" ? [one.reason as unknown] : []));
  const [first] = failures;
  if (first === undefined) return settled.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
  const odd = failures.find((one) => !(one instanceof CalculationError));
  if (odd !== undefined || failures.length === 1) throw odd ?? first;
  const told = failures.slice(0, namedMax).map((one) => (one as CalculationError).message);
  const more = failures.length > namedMax ? `; and ${failures.length - namedMax} more` : "";
  const message = `${failures.length} files cannot be read: ${told.join("; ")}${more}`;
  throw new CalculationError((first as CalculationError).code, message);
}

/** One piece at a time, so a file of any size takes no more memory than two pieces. */
async function hashFile(fact: FileFact, files: Files): Promise<string> {
  const hash = createHash("sha256");
  for await (const piece of files.read(fact)) hash.update(piece);
  return hash.digest("hex");
}
