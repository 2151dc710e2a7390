import type { Worker } from "node:worker_threads";

/** Interval of the measurement: code that fills Buffers as fast as it can takes some 40 MB in it (0.8 GB/s, measured). */
const measureEveryMs = 50;

/**
 * Memory that a thread may hold outside its heap beyond its limit: the partials of one fold (`limits.foldBytesMax`), and
 * as much again that V8 does not collect before it has grown by that.
 */
const spareMb = 128;

interface Watched {
  /** Undefined for a thread that has ended. */
  readonly worker: Worker | undefined;
  /** The limit of its heap. */
  readonly memoryMb: number;
  /** Threads of this process that may compute at the same time. */
  readonly threads: number;
}

/** What a task that is out of memory did, in words. */
export const needsMore = (memoryMb: number): string => `needs more than the ${memoryMb} MB of a thread`;

/**
 * Watches what a thread holds outside its JavaScript heap, which its `resourceLimits` do not cover: Buffers, typed arrays
 * and WebAssembly memories. Calls `onExcess` with the text if it is more than its limit and a little. The returned function
 * ends the watch.
 *
 * It asks from outside, so that code which never pauses is measured as well. Before Node 22.16 nobody can ask; then the
 * growth of the whole process counts, and only above what all its threads together may hold.
 *
 * Not promised: that an allocation is seen before it is made, so a single huge one may still end the process. Memory of
 * native code and of a SharedArrayBuffer belongs to no thread and is not counted.
 */
export function watchMemory(
  { worker, memoryMb, threads }: Watched,
  onExcess: (text: string) => void,
): () => void {
  const ask = worker?.getHeapStatistics?.bind(worker);
  const startedRss = ask === undefined ? process.memoryUsage.rss() : 0;
  const measured =
    ask === undefined
      ? { maxMb: (2 * memoryMb + spareMb) * threads, what: "the process grew by" }
      : { maxMb: memoryMb + spareMb, what: "its Buffers have" };
  let asked = false;

  const measure = async (): Promise<void> => {
    const bytes = ask === undefined ? process.memoryUsage.rss() - startedRss : (await ask()).external_memory;
    const heldMb = Math.round(bytes / (1024 * 1024));
    if (heldMb > measured.maxMb) onExcess(`${needsMore(memoryMb)}: ${measured.what} ${heldMb} MB`);
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
