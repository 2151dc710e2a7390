/**
 * Which chunk a thread computes right now, and since when. The thread writes it; a thread that hangs or died cannot be asked.
 *
 * Not promised, where several are computed at the same time: that one is named. It is where the others have ended, or where its code
 * has not waited for anything yet; a loop that begins after a wait may be that of any of them.
 */
export type ChunkMark = Int32Array<SharedArrayBuffer>;

const none = -1;

export const chunkMark = (): ChunkMark => new Int32Array(new SharedArrayBuffer(8)).fill(none);

export interface MarkedChunk {
  readonly index: number;
  /** When it began, in ms since the thread took the task. */
  readonly sinceMs: number;
}

/** Writes the mark as the chunks of a task begin, wait and end. */
export function chunkMarker(mark: ChunkMark, nowMs: () => number) {
  const startedMs = nowMs();
  const computed = new Map<number, number>();
  const write = (index: number | undefined): void => {
    const sinceMs = index === undefined ? undefined : computed.get(index);
    Atomics.store(mark, 1, sinceMs ?? none);
    Atomics.store(mark, 0, index ?? none);
  };
  return (index: number, does: "begins" | "waits" | "ends"): void => {
    if (does === "begins") computed.set(index, Math.round(nowMs() - startedMs));
    if (does === "ends") computed.delete(index);
    const [only] = computed.size === 1 ? computed.keys() : [];
    write(does === "begins" ? index : only);
  };
}

/** Names the chunk that ends the thread now, though another one may be computed. */
export function markChunk(mark: ChunkMark, index: number): void {
  Atomics.store(mark, 1, 0);
  Atomics.store(mark, 0, index);
}

/** `undefined`: no chunk is being computed, or one of several. */
export function markedChunk(mark: ChunkMark): MarkedChunk | undefined {
  const [index, sinceMs] = [Atomics.load(mark, 0), Atomics.load(mark, 1)];
  return index === none ? undefined : { index, sinceMs };
}
