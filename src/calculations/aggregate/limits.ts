const kib = 1024;
const mib = 1024 * kib;
const gib = 1024 * mib;

/** Limits of one aggregation. Every worker holds a few partials, and a partial has at most 32 MB. */
export const aggregateLimits = {
  /** Groups of a run: a count and a few sums of each fit into a partial and, as a map, into 100 MB. */
  groupsMax: 200_000,
  /** Bytes of all groups of a partial; below the engine's limit by the size of a report. */
  partialBytesMax: 31 * mib,
  /** Different values of one group that `top` counts, one by one since its answer must be exact. */
  topValuesMax: 10_000,
  /** Skipped records and bad numbers that the report shows, each. */
  offendersMax: 5,

  /** Bytes of one record: far above what files hold, and small enough to be held whole, as text, with room to spare. */
  recordBytesMax: 16 * mib,
  /** Bytes of records parsed at once: their text and fields stay within the young generation and the caches. */
  batchBytes: 64 * kib,
  /** Bytes of the first read for the end of a record beyond a border, and for a header; doubled until it is found. */
  firstReadBytes: 64 * kib,
  /** Column names as JSON: they are part of every chunk's input, which `inputBytesMax` limits. */
  columnsBytesMax: 48 * kib,
  /** Levels of a nested NDJSON value in a wanted column; JSON.stringify overflows a stack of 1 MB at some 7,000. */
  nestingMax: 500,
  // Planning: what it holds at once is far below the memory of a thread.
  /** Files whose headers are read at the same time, as far as one small read does: the waits would add up. */
  headsAtOnce: 32,
  /** Bytes of a gzip file whose header is such a small read. */
  smallGzipBytes: 512 * kib,
  /** Other headers read at the same time: each may hold a record of `recordBytesMax`. */
  longHeadsAtOnce: 4,
  /** Borders of ranges searched at the same time, and the bytes that each reads at once. */
  looksAtOnce: 8,
  lookBytesMax: 4 * mib,
  /** Ranges shorter than a quoted field may be are found together in sections of this size. */
  sectionBytes: 64 * mib,
  /** Ranges shorter than this are found by a scan alone, since a look at each would be too many reads. */
  hopBytes: mib,
  /** Files whose list is held between counting and reading them; more are listed twice. */
  filesHeld: 5_000,
  /** Time for counting the files of a plan, and for each sample of its reads, where its size leaves doubt. */
  planMeasureMs: 5_000,
  /** A plan that fits at these rates is not measured: a fifth of what a small instance reaches in its own region. */
  planSlowest: { headsPerS: 100, bytesPerS: 32 * mib },

  /** Decompressed bytes passed on at once. */
  gunzipBytes: 256 * kib,
  /**
   * Factor by which a gzip file may grow. Deflate reaches at most 1,032; tables of numbers and logs reach 5 to 50. A file
   * above this is made to keep a worker busy.
   */
  gunzipRatioMax: 200,
  /** Bytes up to which a file may grow by any factor: that takes a moment. */
  gunzipAlwaysBytes: 32 * mib,
  /** Content of a gzip file: it is one chunk, and more cannot be parsed within the time limit of one. */
  gunzipBytesMax: 16 * gib,
} as const;
