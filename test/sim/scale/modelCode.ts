import type { Clock, Random } from "../../../src/engine/storage/ports.ts";
import type { UserCode } from "../../../src/engine/worker/threads/userCode.ts";
import { rangesCode } from "../../support/rangesCode.ts";
import { onCores } from "../../support/sharedCores.ts";

/** User code of which each chunk takes the same core time. */
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
  const code = onCores(clock, instance.cores, (busy) =>
    rangesCode(busy, instance.threads, random, { chunkMs: () => instance.chunkMs }),
  );
  const compute: UserCode["compute"] = (job, options) => {
    instance.onPack?.();
    return code.compute(job, options);
  };
  return { ...code, compute };
}
