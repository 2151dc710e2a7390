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
