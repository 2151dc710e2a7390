import { CalculationError } from "../../src/model/errors.ts";
import type { Clock, Random } from "../../src/storage/ports.ts";
import type { TaskOptions, UserCode } from "../../src/worker/userCode.ts";

export interface RangesOptions {
  /** How long one chunk takes. Default 100 ms. */
  readonly chunkMs?: (chunk: number, random: Random) => number;
  /** Throws to fail a chunk. */
  readonly onChunk?: (chunk: number) => void;
  /** Bytes added to each partial, to make it too large for metadata. */
  readonly padding?: number;
}

type Ranges = [number, number][];

/**
 * User code for simulations, in virtual time on a number of threads. A partial is the list of chunk ranges it
 * holds; folding joins neighbours and throws when one comes twice or too late. So the result of a run of N chunks
 * is exactly `[[0,N]]`, or says which chunks are missing.
 */
export function rangesCode(
  clock: Clock,
  threads: number,
  random: Random,
  options: RangesOptions = {},
): UserCode {
  const waiting: { readonly urgent: boolean; readonly begin: () => void }[] = [];
  let busy = 0;

  async function onThread<T>({ urgent, onStart }: TaskOptions, work: () => Promise<T>): Promise<T> {
    if (busy >= threads) {
      await new Promise<void>((begin) => {
        const place = urgent ? waiting.findIndex((one) => !one.urgent) : -1;
        waiting.splice(place < 0 ? waiting.length : place, 0, { urgent, begin });
      });
    } else busy += 1;
    try {
      await onStart?.();
      return await work();
    } finally {
      const next = waiting.shift();
      if (next === undefined) busy -= 1;
      else next.begin();
    }
  }

  const encode = (ranges: Ranges) => Buffer.from(JSON.stringify(ranges) + " ".repeat(options.padding ?? 0));
  const fold = (parts: readonly Uint8Array[]): Ranges => {
    const all: Ranges = [];
    for (const part of parts) {
      for (const [from, to] of JSON.parse(Buffer.from(part).toString()) as Ranges) {
        const last = all.at(-1);
        if (last !== undefined && from < last[1])
          throw new CalculationError("doubled", `chunk ${from} came twice or late`);
        if (last !== undefined && last[1] === from) last[1] = to;
        else all.push([from, to]);
      }
    }
    return all;
  };

  return {
    async plan({ params }, _sink, task) {
      return onThread(task, async () => ({ chunks: (params as { chunks: number }).chunks, list: false }));
    },
    compute: ({ from, to }, task) =>
      onThread(task, async () => {
        let ms = 0;
        for (let chunk = from; chunk < to; chunk += 1) {
          ms += options.chunkMs?.(chunk, random) ?? 100;
          options.onChunk?.(chunk);
        }
        await clock.sleep(ms);
        return { bytes: encode([[from, to]]), ms };
      }),
    fold: ({ parts }, task) =>
      onThread(task, async () => {
        await clock.sleep(5);
        return { bytes: encode(fold(parts)), ms: 5 };
      }),
    finish: ({ parts }, task) =>
      onThread(task, async () => {
        await clock.sleep(5);
        return {
          body: Buffer.from(JSON.stringify(fold(parts))),
          contentType: "application/json",
          extension: "json",
          ms: 5,
        };
      }),
    async stop() {},
  };
}
