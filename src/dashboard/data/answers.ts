import type { Range } from "../../model/packs.ts";

/** Answers of the API that only the page reads; the types of all others are those of `src/client`. Times are ISO strings. */

/** At most 2,000 cells in order: a pack each, or `packsPerCell` consecutive packs. Arrays have one number for each cell. */
export interface PackMap {
  readonly run: string;
  readonly uid: string;
  readonly generation: number;
  readonly packs: number;
  readonly shardSize: number;
  readonly packsPerCell: number;
  readonly cells: {
    readonly done: readonly number[];
    readonly failed: readonly number[];
    readonly inFlight: readonly number[];
    /** In flight and sent again: a part of `inFlight`. */
    readonly resent: readonly number[];
  };
}

export interface Durations {
  readonly run: string;
  readonly generation: number;
  readonly packs: number;
  /** Packs whose duration was read; with `cut` not all that are done. */
  readonly counted: number;
  readonly cut: boolean;
  readonly p50Ms?: number;
  readonly p75Ms?: number;
  readonly p95Ms?: number;
  readonly maxMs?: number;
  readonly histogram: readonly { readonly fromMs: number; readonly toMs: number; readonly packs: number }[];
  readonly slowest: readonly {
    readonly pack: number;
    readonly chunks: Range;
    readonly ms: number;
    readonly attempt?: number;
  }[];
}

export type CameBy = "free" | "handed-over" | "expired" | "broken";

export interface TermSpan {
  readonly term: number;
  readonly holder: string;
  readonly from: string;
  readonly to?: string;
  readonly cameBy?: CameBy;
}

export interface Timeline {
  readonly run: string;
  readonly generation: number;
  readonly submittedAt: string;
  readonly finishedAt?: string;
  readonly nowAt: string;
  readonly marks: readonly { readonly at: string; readonly ended: number }[];
  readonly terms: readonly TermSpan[];
  readonly pausedSince?: string;
}

export interface FailureGroup {
  readonly code: string;
  /** Normalized: numbers and ids that differ are replaced. */
  readonly message: string;
  readonly sample: string;
  readonly packs: readonly number[];
  readonly chunks: readonly Range[];
  readonly attempts: number;
}

export interface QueueMessages {
  readonly queue: string;
  readonly messages: readonly {
    readonly id: string;
    readonly insertedAt: string;
    readonly dequeueCount: number;
    readonly kind?: string;
    readonly decoded?: Readonly<Record<string, unknown>>;
    readonly text: string;
    readonly cut?: true;
  }[];
}

export interface Instance {
  readonly version: string;
  readonly instance: string;
  readonly readOnly?: boolean;
}
