import type { Clock, Random } from "../../../src/storage/ports.ts";
import type { TaskOptions, UserCode } from "../../../src/worker/threads/userCode.ts";
import { rangesCode } from "../../support/rangesCode.ts";
import { sharedCores } from "./sharedCores.ts";

/**
 * User code of which each chunk takes the same core time. How long a thread says that it worked is what passed, as
 * with real threads: twice the core time where two of them share one core.
 */
export function modelCode(
  clock: Clock,
  random: Random,
  instance: {
    readonly threads: number;
    readonly cores: number;
    readonly chunkMs: number;
    /** Told of each pack that a thread begins. */
    readonly onPack?: (() => void) | undefined;
  },
): UserCode {
  const cores = sharedCores(clock, instance.cores);
  const busy: Clock = { ...clock, sleep: (ms, signal) => cores.work(ms, signal) };
  const code = rangesCode(busy, instance.threads, random, { chunkMs: () => instance.chunkMs });

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
    compute: (job, options) =>
      timed(options, (all) => {
        instance.onPack?.();
        return code.compute(job, all);
      }),
    fold: (job, options) => timed(options, (all) => code.fold(job, all)),
    finish: (job, options) => timed(options, (all) => code.finish(job, all)),
  };
}
