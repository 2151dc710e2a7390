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
  /** Files whose headers are read at the same time while planning: under a long prefix the waits would add up. */
  headsAtOnce: 8,

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
