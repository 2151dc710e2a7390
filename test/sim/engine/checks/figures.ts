import type { Ledger } from "./ledger.ts";

/** What came about in a world: a simulation in which little happens would prove little. */
export interface Figures {
  runs: number;
  complete: number;
  gapped: number;
  failed: number;
  cancelled: number;
  deleted: number;
  /** Generations begun beyond the first. */
  retries: number;
  /** Terms that led a run beyond its first one. */
  takeovers: number;
  turns: number;
}

export const noFigures: Figures = {
  ...{
    runs: 0,
    complete: 0,
    gapped: 0,
    failed: 0,
    cancelled: 0,
    deleted: 0,
    retries: 0,
    takeovers: 0,
    turns: 0,
  },
};

export function figuresOf({ runs }: Ledger): Figures {
  const figures = { ...noFigures };
  for (const { state, manifests, deleteAskedMs, highest } of runs.values()) {
    figures.runs += 1;
    figures.retries += Math.max(0, highest.generation - 1);
    figures.takeovers += Math.max(0, highest.terms - 1);
    figures.turns += highest.turn;
    if (deleteAskedMs !== undefined) figures.deleted += 1;
    else if (state?.phase === "complete") {
      figures[manifests.get(state.generation)?.complete === true ? "complete" : "gapped"] += 1;
    } else if (state?.phase === "failed" || state?.phase === "cancelled") figures[state.phase] += 1;
  }
  return figures;
}

export const addFigures = (a: Figures, b: Figures): Figures =>
  Object.fromEntries(
    Object.keys(noFigures).map((name) => [name, a[name as keyof Figures] + b[name as keyof Figures]]),
  ) as unknown as Figures;
