/**
 * What one calculation does on its own, in one thread of this process, without storage and messages, and
 * beside another program on the same machine. Each module in this folder exports one.
 */
export interface CalculationBench {
  /** Name of the calculation. */
  readonly name: string;
  /** Of the figure `perS`: what one thread does in a second, in the plural. */
  readonly unit: string;
  /**
   * Figures by name, numbers in plain units with the unit at the end of the name (`seconds`, `bytes`,
   * `perS`). `perS` must be there; `ratio-to-NAME` is our time over that of another program, above 1 where
   * that one is quicker. Throws where an answer is wrong. With `quick` within two seconds.
   */
  measure(options: {
    readonly quick: boolean;
    say(line: string): void;
  }): Promise<Readonly<Record<string, number>>>;
  /** What must hold of the figures, beside what holds for all calculations. */
  readonly goals?: readonly CalculationGoal[];
  /**
   * A run of half a minute or more of one thread's work, 2 s or 300 MB with `quick`: the bench has it computed in one thread, then
   * by two instances, and compares the bytes. `fill` puts what it reads into storage before.
   */
  whole(quick: boolean): WholeRun;
}

interface CalculationGoal {
  readonly goal: string;
  /** Sizes of `quick` tell enough. */
  readonly quick?: boolean;
  /** A figure that is not there where another program is not installed: then the goal says nothing. */
  readonly needs?: string;
  /** Of the figures of `measure`, and of `TwoRuns`. */
  met(figures: Readonly<Record<string, number>>): boolean;
}

/** Of a run over files: what sending, planning and handing over bytes cost beside computing and reading. */
export const cpuGoal = (calculation: string): CalculationGoal => ({
  goal: `${calculation} on two instances takes at most 1.3 × the CPU of one thread that reads the same files`,
  quick: true,
  met: ({ cpuRatio = Number.NaN }) => cpuRatio <= 1.3,
});

export interface WholeRun {
  readonly params: Readonly<Record<string, unknown>>;
  fill?(upload: Upload): Promise<void>;
}

/** Stores a blob by `container/name`; the container is made where it is not there. */
export type Upload = (path: string, body: Uint8Array | AsyncIterable<Uint8Array>) => Promise<void>;
