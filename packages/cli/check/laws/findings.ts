/** The laws in the order of their checks, as a report names them. After a broken one no further law is checked, but for chunks that throw. */
export const laws = {
  params: "parameters survive JSON",
  plan: "plan is deterministic",
  inputs: "inputs survive JSON",
  compute: "compute is deterministic",
  codec: "partials survive their codec",
  merge: "merge sees all in the bytes",
  size: "partials stay under 32 MB",
  finish: "finish is deterministic",
} as const;

export type LawName = keyof typeof laws;

/** Advice names no law: something that breaks nothing and is worth a hint. */
type AdviceName = "empty" | "result" | "growth" | "time" | "random" | "clock" | "math";

export type Advice = { readonly law: AdviceName; readonly outcome: "advice"; readonly text: string };

/** The outcome of one law's check, or advice. */
export type Finding =
  | { readonly law: LawName; readonly outcome: "holds"; readonly tried: string; readonly ms?: number }
  | { readonly law: LawName; readonly outcome: "unchecked"; readonly why: string }
  | { readonly law: LawName; readonly outcome: "broken"; readonly breach: Breach; readonly ms?: number }
  | Advice;

/** The violation of a law, by the smallest example found. Every text is one line. */
export interface Breach {
  /** Such as `chunk 0: computed again, it gives other bytes`. */
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
/** The window needs no more of a value than this. */
const readBytesMax = 1_000_000;

/** Two encoded values side by side, cut around the first difference: as text, or hexadecimal where one is not printable. */
export function sidesOf(nameA: string, a: Uint8Array, nameB: string, b: Uint8Array): [Side, Side] {
  const as = isText(a) && isText(b) ? "utf8" : "hex";
  const [textA = "", textB = ""] = [a, b].map((bytes) =>
    Buffer.from(bytes.subarray(0, readBytesMax)).toString(as).trimEnd(),
  );
  let at = 0;
  while (at < textA.length && textA[at] === textB[at]) at += 1;
  const long = Math.max(textA.length, textB.length) > shownMax;
  const from = long ? Math.max(0, at - shownMax / 2) : 0;
  return [
    { name: nameA, value: windowOf(textA, from) },
    { name: nameB, value: windowOf(textB, from) },
  ];
}

/** A text of at most the width, from there on. */
export function windowOf(text: string, from = 0): string {
  const room = shownMax - (from > 0 ? 1 : 0);
  const cut = text.slice(from, from + room);
  return `${from > 0 ? "…" : ""}${from + room < text.length ? `${cut.slice(0, -1)}…` : cut}`;
}

/** Whether the first thousand bytes are printable. */
function isText(bytes: Uint8Array): boolean {
  const head = Buffer.from(bytes.subarray(0, 1_000)).toString("utf8");
  // biome-ignore lint/suspicious/noControlCharactersInRegex: exactly these are not printable.
  return !/[\u0000-\u0008\u000e-\u001f\ufffd]/.test(head.slice(0, 990));
}
