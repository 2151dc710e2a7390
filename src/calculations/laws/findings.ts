import { isDeepStrictEqual } from "node:util";

/** The laws in the order of their checks. A law that needs a broken one is not checked. */
export const laws = {
  params: { says: "parameters survive JSON", needs: [] },
  plan: { says: "plan is deterministic", needs: [] },
  inputs: { says: "inputs survive JSON", needs: ["plan"] },
  compute: { says: "compute is deterministic", needs: ["params", "inputs"] },
  state: { says: "chunks keep no state", needs: ["compute"] },
  codec: { says: "partials survive their codec", needs: ["state"] },
  arguments: { says: "merge leaves others alone", needs: ["codec"] },
  size: { says: "partials stay under 32 MB", needs: ["arguments"] },
  finish: { says: "finish is deterministic", needs: ["codec"] },
  packs: { says: "packs do not matter", needs: ["size", "finish"] },
} as const satisfies Record<string, { says: string; needs: readonly string[] }>;

export type LawName = keyof typeof laws;

/** Advice names no law: something that breaks nothing and is worth a hint. */
type AdviceName = "order" | "empty" | "result" | "growth" | "time" | "memory" | "random" | "math";

/** The outcome of one law's check, or advice. */
export type Finding =
  | { readonly law: LawName; readonly outcome: "holds"; readonly tried: string; readonly ms?: number }
  | { readonly law: LawName; readonly outcome: "unchecked"; readonly why: string }
  | { readonly law: LawName; readonly outcome: "broken"; readonly breach: Breach; readonly ms?: number }
  | { readonly law: AdviceName; readonly outcome: "advice"; readonly text: string };

/** The violation of a law, by the smallest example found. Every text is one line. */
export interface Breach {
  /** Such as `chunk 0: it depends on which chunk was computed before`. */
  readonly example: string;
  /** The two values that should be equal, each with its name, cut around the first difference. */
  readonly sides?: readonly [Side, Side];
  readonly likely: string;
  readonly cure: string;
}

interface Side {
  readonly name: string;
  readonly value: string;
}

/** The answer of one check: what was tried, a breach, or why nothing could be tried. */
export type Verdict =
  | { readonly tried: string }
  | { readonly breach: Breach }
  | { readonly unchecked: string };

export const broken = (
  example: string,
  likely: string,
  cure: string,
  sides?: readonly [Side, Side],
): { readonly breach: Breach } => ({
  breach: { example, likely, cure, ...(sides === undefined ? {} : { sides }) },
});

/** Characters that fit behind a name on a line of 80 columns. */
const shownMax = 56;

/** Two encoded values side by side, cut around the first difference. */
export function sidesOf(nameA: string, a: Uint8Array, nameB: string, b: Uint8Array): [Side, Side] {
  const [textA, textB] = isText(a) && isText(b) ? [textOf(a), textOf(b)] : [hexOf(a), hexOf(b)];
  let at = 0;
  while (at < textA.length && textA[at] === textB[at]) at += 1;
  const long = Math.max(textA.length, textB.length) > shownMax;
  const from = long ? Math.max(0, at - Math.floor(shownMax / 2)) : 0;
  return [
    { name: nameA, value: windowOf(textA, from) },
    { name: nameB, value: windowOf(textB, from) },
  ];
}

/** JSON or hexadecimal text of one encoded value, cut. */
export const shown = (bytes: Uint8Array): string => windowOf(isText(bytes) ? textOf(bytes) : hexOf(bytes), 0);

function windowOf(text: string, from: number): string {
  const room = shownMax - (from > 0 ? 1 : 0);
  const cut = text.slice(from, from + room);
  return `${from > 0 ? "…" : ""}${from + room < text.length ? `${cut.slice(0, -1)}…` : cut}`;
}

/** The window needs no more text than this. */
const textBytesMax = 1_000_000;
const textOf = (bytes: Uint8Array): string =>
  Buffer.from(bytes.subarray(0, textBytesMax)).toString("utf8").trimEnd();
const hexOf = (bytes: Uint8Array): string => Buffer.from(bytes.subarray(0, textBytesMax / 2)).toString("hex");

/** Whether the first thousand bytes are printable. */
function isText(bytes: Uint8Array): boolean {
  const head = Buffer.from(bytes.subarray(0, 1_000)).toString("utf8");
  // biome-ignore lint/suspicious/noControlCharactersInRegex: exactly these are not printable.
  return !/[\u0000-\u0008\u000e-\u001f\ufffd]/.test(head.slice(0, 990));
}

type Reason = Pick<Breach, "likely" | "cure">;

/** The reason why two encoded values differ, as far as the values show it. */
export function reasonOf(a: Uint8Array, b: Uint8Array): Reason | undefined {
  const [left, right] = [jsonOf(a), jsonOf(b)];
  if (left === undefined || right === undefined) return undefined;
  if (isDeepStrictEqual(left.value, right.value)) return keyOrder;
  const differing = firstDifference(left.value, right.value);
  if (differing === undefined) return undefined;
  const [x, y] = differing;
  if (Array.isArray(x) && Array.isArray(y) && isDeepStrictEqual(sorted(x), sorted(y))) return listOrder;
  return undefined;
}

const keyOrder: Reason = {
  likely: "the same values with keys in another order: that of their insertion into an object or Map",
  cure: "encode them sorted by key",
};
const listOrder: Reason = {
  likely: "the same items in another order",
  cure: "put the items of a before those of b, or sort them",
};

function jsonOf(bytes: Uint8Array): { readonly value: unknown } | undefined {
  try {
    return { value: JSON.parse(Buffer.from(bytes).toString("utf8")) };
  } catch {
    return undefined;
  }
}

/** The innermost pair of values that differ; lists that differ in order or length are such a pair themselves. */
function firstDifference(a: unknown, b: unknown): readonly [unknown, unknown] | undefined {
  if (isDeepStrictEqual(a, b)) return undefined;
  if (a === null || b === null || typeof a !== "object" || typeof b !== "object") return [a, b];
  if (Array.isArray(a) && Array.isArray(b)) {
    if (a.length !== b.length || isDeepStrictEqual(sorted(a), sorted(b))) return [a, b];
  }
  for (const key of Object.keys(a)) {
    const inner = firstDifference((a as Record<string, unknown>)[key], (b as Record<string, unknown>)[key]);
    if (inner !== undefined) return inner;
  }
  return [a, b];
}

const sorted = (items: readonly unknown[]): string[] => items.map((item) => JSON.stringify(item)).sort();
