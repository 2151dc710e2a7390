import { StorageError } from "../../model/errors.ts";
import type { WorkerPorts } from "../ports.ts";

const firstPauseMs = 500;
const longestPauseMs = 10_000;

/**
 * Repeats a storage call that is busy, within `endRetryMs`. What an attempt leaves behind decides what its send is
 * taken for: a send that ends without a word counts as one that ended its process.
 */
export async function persist<T>(
  { clock, endRetryMs }: Pick<WorkerPorts, "clock" | "endRetryMs">,
  call: () => Promise<T>,
): Promise<T> {
  const untilMs = clock.monotonicMs() + endRetryMs;
  for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(2 * pauseMs, longestPauseMs)) {
    try {
      return await call();
    } catch (error) {
      const busy = error instanceof StorageError && error.kind === "busy";
      if (!busy || clock.monotonicMs() + pauseMs > untilMs) throw error;
      await clock.sleep(pauseMs);
    }
  }
}
