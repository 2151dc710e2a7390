/** Which chunk a thread computes right now. The thread writes it; a thread that hangs or died cannot be asked. */
export type ChunkMark = Int32Array<SharedArrayBuffer>;

const none = -1;

export const chunkMark = (): ChunkMark => new Int32Array(new SharedArrayBuffer(4)).fill(none);

/** `undefined`: no chunk is being computed. */
export const markChunk = (mark: ChunkMark, index: number | undefined): void =>
  void Atomics.store(mark, 0, index ?? none);

/** `undefined`: no chunk is being computed. */
export function markedChunk(mark: ChunkMark): number | undefined {
  const index = Atomics.load(mark, 0);
  return index === none ? undefined : index;
}
