/** Bounds that an operator sets in a run's marker, as they hold for sends. */
export interface Bounds {
  /** To be called with each write of the marker. */
  readonly written: (uid: string, bound: number) => void;
  /** The highest bound by which a leader may send now. */
  readonly of: (uid: string) => number;
}

/** A bound that was lowered holds for a leader from its next poll on; one that was stopped may send once more by the old one. */
const oldBoundMs = 300_000;

export function boundsOfMarkers(nowMs: () => number): Bounds {
  const bounds = new Map<string, { readonly bound: number; untilMs: number }[]>();
  return {
    written(uid, bound) {
      const known = bounds.get(uid) ?? [];
      const last = known.at(-1);
      if (last?.bound === bound) return;
      if (last !== undefined) last.untilMs = nowMs();
      known.push({ bound, untilMs: Number.POSITIVE_INFINITY });
      bounds.set(uid, known);
    },
    of: (uid) =>
      Math.max(
        ...(bounds.get(uid) ?? [])
          .filter((one) => one.untilMs > nowMs() - oldBoundMs)
          .map((one) => one.bound),
      ),
  };
}
