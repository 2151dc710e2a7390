import { hash } from "node:crypto";

/**
 * The tree of a run as a plain recursion over halves, which knows nothing of packs, shards or spans: what every fold of
 * the engine has to agree with.
 */
export function wholeTree<Part>(run: {
  readonly chunks: number;
  readonly has: (chunk: number) => boolean;
  readonly leaf: (chunk: number) => Part;
  readonly merge: (left: Part, right: Part) => Part;
}): Part | undefined {
  const fold = (from: number, to: number): Part | undefined => {
    if (to - from === 1) return from < run.chunks && run.has(from) ? run.leaf(from) : undefined;
    const middle = (from + to) / 2;
    const [left, right] = [fold(from, middle), fold(middle, to)];
    if (left === undefined) return right;
    return right === undefined ? left : run.merge(left, right);
  };
  return fold(0, 2 ** Math.ceil(Math.log2(Math.max(run.chunks, 1))));
}

/** The same as a text that shows each merge: `((0 1) 2)`. */
export const treeText = (chunks: number, has: (chunk: number) => boolean): string | undefined =>
  wholeTree({ chunks, has, leaf: String, merge: (left, right) => `(${left} ${right})` });

/** A short text that another order or another parenthesis would make another. */
export const shapeOf = (left: string, right: string): string =>
  hash("sha256", `(${left} ${right})`).slice(0, 12);

/** The second line of a `shaped` result, by a plain recursion over the chunks that are folded. */
export const treeShape = (
  chunks: number,
  has: (chunk: number) => boolean,
  leaf: (chunk: number) => string = String,
): string => wholeTree({ chunks, has, leaf, merge: shapeOf }) ?? "";
