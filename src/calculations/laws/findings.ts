/** The laws in the order in which they are tried. A law that needs a broken one is not tried. */
export const laws = {
  params: { says: "parameters survive JSON", needs: [] },
  plan: { says: "plan is deterministic", needs: [] },
  inputs: { says: "inputs survive JSON", needs: ["plan"] },
  compute: { says: "compute is deterministic", needs: ["params", "inputs"] },
  state: { says: "chunks keep no state", needs: ["compute"] },
  codec: { says: "partials survive their codec", needs: ["state"] },
  arguments: { says: "merge leaves others alone", needs: ["codec"] },
  size: { says: "partials stay under 32 MB", needs: ["arguments"] },
  zero: { says: "zero is neutral", needs: ["size"] },
  merge: { says: "merge is associative", needs: ["size"] },
  finish: { says: "finish is deterministic", needs: ["codec"] },
  packs: { says: "packs do not matter", needs: ["merge", "finish"] },
} as const satisfies Record<string, { says: string; needs: readonly string[] }>;

export type LawName = keyof typeof laws;

/** What is no law, and still worth telling. */
export type AdviceName = "empty" | "growth" | "time" | "memory";

/** How one law fared; `advice` breaks nothing. */
export type Finding =
  | { readonly law: LawName; readonly outcome: "holds"; readonly tried: string; readonly ms?: number }
  | { readonly law: LawName; readonly outcome: "unchecked"; readonly why: string }
  | { readonly law: LawName; readonly outcome: "broken"; readonly breach: Breach; readonly ms?: number }
  | { readonly law: AdviceName; readonly outcome: "advice"; readonly text: string };

/** A law that does not hold, by the smallest example found. Every text is one line. */
export interface Breach {
  /** Such as `chunks 0, 1, 2: (a·b)·c is not a·(b·c)`. */
  readonly example: string;
  /** The two values that should be equal, each with its name, cut to where they begin to differ. */
  readonly sides?: readonly [Side, Side];
  readonly likely: string;
  readonly cure: string;
}

export interface Side {
  readonly name: string;
  readonly value: string;
}

/** What a law gives back: what was tried, a breach, or why nothing could be tried. */
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
