import type { Worker } from "node:worker_threads";
import { threadSpareMb } from "../../calculation/attempt.ts";

/** Interval of the measurement: code that fills Buffers as fast as it can takes some 40 MB in it (0.8 GB/s, measured). */
const measureEveryMs = 50;

/** What a task that is out of memory did, in words. */
export const needsMore = (memoryMb: number): string => `needs more than the ${memoryMb} MB of a thread`;

/**
 * Watches what a thread holds outside its JavaScript heap, which its `resourceLimits` do not cover: Buffers, typed arrays
 * and WebAssembly memories. Calls `onExcess` with the text if it is more than its limit, `memoryMb`, and a little. The
 * returned function ends the watch. `worker`: undefined for a thread that has ended.
 *
 * It asks from outside, so that code which never pauses is measured as well.
 *
 * Not promised: that an allocation is seen before it is made, so a single huge one may still end the process. Memory of
 * native code and of a SharedArrayBuffer belongs to no thread and is not counted.
 */
export function watchMemory(
  worker: Worker | undefined,
  memoryMb: number,
  onExcess: (text: string) => void,
): () => void {
  let asked = false;

  const measure = async (): Promise<void> => {
    const bytes = (await worker?.getHeapStatistics())?.external_memory ?? 0;
    const heldMb = Math.round(bytes / (1024 * 1024));
    if (heldMb > memoryMb + threadSpareMb) onExcess(`${needsMore(memoryMb)}: its Buffers have ${heldMb} MB`);
  };
  const timer = setInterval(() => {
    // A thread answers between two steps of its code, and at the latest when a long native call has ended.
    if (asked) return;
    asked = true;
    // One that starts or has ended answers with an error.
    void measure()
      .catch(() => {})
      .finally(() => {
        asked = false;
      });
  }, measureEveryMs);
  return () => clearInterval(timer);
}
