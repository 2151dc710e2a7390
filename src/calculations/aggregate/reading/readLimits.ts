const kib = 1024;
const mib = 1024 * kib;
const gib = 1024 * mib;

/** Sizes in bytes while records are read; all that is held at once follows from them. */
export const readLimits = {
  /** One record: far above what files hold, and small enough to be held whole, as text, with room to spare. */
  recordBytesMax: 16 * mib,
  /** Records parsed at once: their text, rows and fields stay within the young generation and the caches. */
  batchBytes: 64 * kib,
  /** First look for the end of a record beyond a border, and for a header; doubled until it is found. */
  lookBytes: 64 * kib,
  /** Column names as JSON: they go with every chunk's input, of which `inputBytesMax` is the limit. */
  columnsBytesMax: 48 * kib,
  /** Decompressed bytes handed over at once. */
  gunzipBytes: 256 * kib,
  /**
   * Times that a gzip file may grow. Deflate cannot do better than 1,032; tables of numbers and logs shrink to a fifth or
   * a fiftieth, and what shrinks to less than this is made to keep a worker busy.
   */
  gunzipRatioMax: 200,
  /** A small file may grow by any ratio up to here: it takes a moment. */
  gunzipAlwaysBytes: 32 * mib,
  /** What a gzip file may hold: it is one chunk, and more cannot be parsed within the time limit of one. */
  gunzipBytesMax: 16 * gib,
  /** Levels of a nested NDJSON value that is asked for; JSON.stringify overflows a stack of 1 MB at some 7,000. */
  nestingMax: 500,
  /** Files whose headers are read at once while planning: a wait for each would add up under a long prefix. */
  headsAtOnce: 8,
  /** Skipped records that a report shows. */
  offendersMax: 5,
} as const;
