import { createHash } from "node:crypto";
import { CalculationError } from "../../model/errors.ts";
import { type FileFact, type Files, releasePiece } from "../files.ts";

/** A file in the manifest. */
interface Entry {
  /** Relative to the folder of the source, so that copies of a folder have equal manifests. */
  readonly path: string;
  readonly bytes: number;
  /** 64 hex digits. */
  readonly sha256: string;
}

/** A line of the manifest with its line end; without the line end it is a leaf of the Merkle tree. */
export const manifestLine = ({ path, bytes, sha256 }: Entry): string =>
  `${JSON.stringify({ path, bytes, sha256 })}\n`;

/** A file's path relative to the folder of the source: `c/sales/` and `c/sales/20` both give `2026/a.csv`. */
export function pathBelow(source: string, path: string): string {
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

function sha256(...parts: readonly Uint8Array[]): Buffer {
  const hash = createHash("sha256");
  for (const part of parts) hash.update(part);
  return hash.digest();
}

/** Failures that the message names; it counts the others. */
const namedMax = 5;

/** SHA-256 of each file, in hex and in their order. Tries all files, so that the error names all that cannot be read. */
export async function hashFiles(facts: readonly FileFact[], files: Files): Promise<string[]> {
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
  const hash = createHash("sha256");
  for await (const piece of files.read(fact)) {
    hash.update(piece);
    releasePiece(piece);
  }
  return hash.digest("hex");
}
