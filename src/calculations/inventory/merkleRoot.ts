import { createHash } from "node:crypto";

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
