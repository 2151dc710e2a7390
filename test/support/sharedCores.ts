import type { Clock } from "../../src/engine/storage/ports.ts";
import type { TaskOptions, UserCode } from "../../src/engine/worker/threads/userCode.ts";

/** The processor of one instance, shared evenly by the threads that compute on it. */
export interface SharedCores {
  /** Resolves once this much core time was spent on it, or when it is given up. */
  work(ms: number, signal?: AbortSignal): Promise<void>;
}

interface Job {
  /** The share of a thread at which it is done. */
  readonly doneAt: number;
  readonly done: () => void;
}

/**
 * While no more threads compute than there are cores, each has one; else all have the same part of them. `share`
 * counts the core time that a thread would have had that computed from the beginning.
 */
export function sharedCores(clock: Clock, cores: number): SharedCores {
  const jobs: Job[] = [];
  let share = 0;
  let atMs = 0;
  let takeBack = (): void => {};

  const speed = (): number => Math.min(1, cores / Math.max(1, jobs.length));
  const advance = (): void => {
    const nowMs = clock.monotonicMs();
    share += (nowMs - atMs) * speed();
    atMs = nowMs;
  };
  const waitForNext = (): void => {
    takeBack();
    const [next] = jobs;
    if (next !== undefined) takeBack = clock.after((next.doneAt - share) / speed(), endNext);
  };
  const endNext = (): void => {
    advance();
    jobs.shift()?.done();
    waitForNext();
  };
  return {
    work: (ms, signal) =>
      new Promise((done) => {
        advance();
        const job = { doneAt: share + ms, done };
        const place = jobs.findIndex((one) => one.doneAt > job.doneAt);
        jobs.splice(place < 0 ? jobs.length : place, 0, job);
        waitForNext();
        signal?.addEventListener("abort", () => {
          advance();
          const at = jobs.indexOf(job);
          if (at >= 0) jobs.splice(at, 1);
          waitForNext();
          done();
        });
      }),
  };
}

/**
 * User code whose threads share these cores. How long a thread says that it worked is what passed, as with real threads:
 * twice the core time where two of them share one core.
 */
export function onCores(clock: Clock, cores: number, make: (busy: Clock) => UserCode): UserCode {
  const shared = sharedCores(clock, cores);
  const code = make({ ...clock, sleep: (ms, signal) => shared.work(ms, signal) });
  async function timed<T>(options: TaskOptions, run: (options: TaskOptions) => Promise<T>) {
    let startedMs = 0;
    const onStart = async (): Promise<void> => {
      await options.onStart?.();
      startedMs = clock.monotonicMs();
    };
    const output = await run({ ...options, onStart });
    return { ...output, ms: clock.monotonicMs() - startedMs };
  }
  return {
    ...code,
    compute: (job, options) => timed(options, (all) => code.compute(job, all)),
    fold: (job, options) => timed(options, (all) => code.fold(job, all)),
    finish: (job, options) => timed(options, (all) => code.finish(job, all)),
  };
}
