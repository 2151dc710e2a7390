import type { Random } from "../../../src/engine/storage/ports.ts";

/** A run to test estimates with: packs begin in order, each as soon as a thread is free. */
export interface SuiteRun {
  /** Compute time of each pack, and the further time that it occupies its thread. */
  readonly durationsMs: readonly number[];
  readonly besideMs: readonly number[];
  /** Number of threads once `ended` packs have ended. */
  readonly threads: (ended: number) => number;
}

/** A uniform run, which a family transforms. */
interface Even extends SuiteRun {
  readonly most: number;
  readonly random: Random;
}

type Shape = (even: Even) => Partial<SuiteRun>;

/** The kinds of runs that the remaining time is tested with. */
export const families = {
  uniform: () => ({}),
  heavyTailed: (even) => {
    const sigma = 0.6 + 0.6 * even.random.number();
    return scaled(even, () => Math.exp(sigma * normal(even.random) - sigma ** 2 / 2));
  },
  skewed: (even) => {
    const weights = queensWeights(even.durationsMs.length);
    return scaled(even, (_place, pack) => weights[pack] ?? 0);
  },
  driftingUp: (even) => scaled(even, drift(even)),
  driftingDown: (even) => {
    const up = drift(even);
    return scaled(even, (place) => up(1 - place));
  },
  gainingWorkers: ({ most, durationsMs }) => {
    const few = Math.ceil(most / 8);
    const third = durationsMs.length / 3;
    return { threads: (ended) => Math.round(few + (most - few) * Math.min(1, ended / third)) };
  },
  driftingWorkers: ({ most, durationsMs, random }) => {
    const end = 4 ** (random.number() - 0.5);
    return { threads: (ended) => Math.max(1, Math.round(most * end ** (ended / durationsMs.length))) };
  },
  losingWorkers: ({ besideMs, durationsMs, random }) => ({
    // One pack of a hundred is lost with its worker, detected late, and computed again.
    besideMs: besideMs.map(
      (ms, pack) => ms + (random.number() < 0.01 ? Math.max(3 * (durationsMs[pack] ?? 0), 2_000) : 0),
    ),
  }),
  fewRounds: ({ durationsMs, random }) => {
    const threads = Math.ceil(durationsMs.length / (1 + 3 * random.number()));
    return { threads: () => threads };
  },
  stepInDurations: (even) => {
    const step = pickOf(even.random, [0.5, 0.7, 1.4, 2]);
    return scaled(even, (place) => (place < 0.5 ? 1 : step));
  },
  stepInWorkers: ({ most, durationsMs, random }) => {
    const after = Math.max(1, Math.round(most * pickOf(random, [0.5, 2])));
    return { threads: (ended) => (ended < durationsMs.length / 2 ? most : after) };
  },
} satisfies Record<string, Shape>;

export type Family = keyof typeof families;

/** Families with a change half-way that no estimate can foresee; the test checks how soon the band holds again. */
export const sudden: readonly Family[] = ["stepInDurations", "stepInWorkers"];

export const pickOf = (random: Random, of: readonly number[]): number =>
  of[Math.floor(random.number() * of.length)] ?? 0;

const scaled = (
  { durationsMs }: Even,
  by: (place: number, pack: number) => number,
): Pick<SuiteRun, "durationsMs"> => ({
  durationsMs: durationsMs.map((ms, pack) => ms * by(pack / (durationsMs.length - 1), pack)),
});

/** Grows from 1/2 to 2, by equal amounts or by equal factors. */
function drift({ random }: Even): (place: number) => number {
  return random.number() < 0.5 ? (place) => 4 ** place / 2 : (place) => (1 + 3 * place) / 2;
}

const normal = (random: Random): number =>
  Math.sqrt(-2 * Math.log(1 - random.number())) * Math.cos(2 * Math.PI * random.number());

/** Durations of n-queens packs: the squares tried below their share of the first rows. */
function queensWeights(packs: number): number[] {
  const chunks = packs <= 300 ? squaresTried(11, 3) : squaresTried(12, 4);
  const mean = chunks.reduce((sum, chunk) => sum + chunk, 0) / packs;
  const weights = Array.from({ length: packs }, () => 0);
  for (const [chunk, weight] of chunks.entries()) {
    const pack = Math.floor((chunk * packs) / chunks.length);
    weights[pack] = (weights[pack] ?? 0) + weight / mean;
  }
  return weights;
}

const triedBefore = new Map<number, readonly number[]>();

function squaresTried(n: number, rows: number): readonly number[] {
  const known = triedBefore.get(n);
  if (known !== undefined) return known;
  const full = (1 << n) - 1;
  const chunks: number[] = [];
  const place = (row: number, columns: number, left: number, right: number): number => {
    let tried = 1;
    for (let free = full & ~(columns | left | right); free !== 0; free &= free - 1) {
      const queen = free & -free;
      tried += place(row + 1, columns | queen, ((left | queen) << 1) & full, (right | queen) >> 1);
    }
    if (row === rows) chunks.push(tried);
    return tried;
  };
  place(0, 0, 0, 0);
  triedBefore.set(n, chunks);
  return chunks;
}
