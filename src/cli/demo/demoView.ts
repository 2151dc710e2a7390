/** All that the demo shows at one moment; what draws it needs nothing else. */
export interface DemoView {
  /** Undefined while it is not chosen. */
  readonly to: number | undefined;
  readonly cores: number;
  /** What goes on as a whole: starting, measuring, counting. */
  readonly stage: string;
  /** Since the start of the demo, as in the notes. */
  readonly elapsedMs: number;
  readonly packs?: { readonly done: number; readonly total: number };
  readonly packsPerS?: number;
  readonly leader: LeaderFact;
  readonly instances: readonly InstanceFact[];
  /** Oldest first. */
  readonly notes: readonly Note[];
}

export type LeaderFact =
  | { readonly kind: "leading"; readonly name: string; readonly term: number; readonly forMs: number }
  /** There was one. */
  | { readonly kind: "nobody"; readonly forMs: number }
  | { readonly kind: "none-yet" }
  /** The run is over. */
  | { readonly kind: "not-needed" };

export interface InstanceFact {
  readonly name: string;
  readonly doing: string;
  readonly mood: "leading" | "working" | "idle" | "gone";
  readonly packs: number;
}

export interface Note {
  readonly atMs: number;
  readonly text: string;
  readonly mood: "plain" | "bad" | "good";
}
