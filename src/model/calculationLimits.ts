/** Limits of what a calculation may plan and return. */
export const calculationLimits = {
  /** Chunks of one run: above it neither lists nor state stay small (DESIGN, section 3). */
  chunksMax: 10_000_000,
  /** One chunk's input as JSON: a segment of a few thousand must still be read whole. */
  inputBytesMax: 64 * 1024,
  /** Inputs handed over at once while planning; each batch becomes a segment. */
  inputsPerBatch: 5_000,
  /** Bytes of such a batch as JSON, at which it is closed early: each worker that needs it reads it whole. */
  batchBytesMax: 4 * 1024 * 1024,
  /** One encoded partial: a fold holds a bounded number of them in a worker's memory. */
  partialBytesMax: 32 * 1024 * 1024,
  /** Characters of a result's content type: an HTTP header and a line of `status`. */
  contentTypeCharactersMax: 200,
  /** Characters of a result's extension: the end of a blob name and of a file name. */
  extensionCharactersMax: 16,
} as const;
