const mib = 1024 ** 2;

/** Limits of reading a source. */
export const sourceLimits = {
  /** Files of a run: their list is held while planning, some 300 bytes each. */
  filesMax: 200_000,
  /** Bytes of one record of CSV or NDJSON: DuckDB's own default (`max_line_size`). */
  recordBytesMax: 2 * mib,
  /** DuckDB's buffers of CSV, which hold a record; its own have 32 MB, and new memory takes as much CPU as parsing does. */
  csvBufferBytes: 8 * mib,
  /** Bytes of a first file, and of the sample files, from which types are found. */
  sampleBytes: mib,
  /** Bytes of a sample whose first megabyte is mostly a part of one record. */
  longSampleBytes: 16 * mib,
  /** Files, spread over the source, from which types are found. */
  samplesMax: 8,
  /** Files of one chunk: each is opened on its own. */
  filesPerChunk: 256,
  /** Bytes of the files and columns of one input as JSON, half of `inputBytesMax`. */
  inputBytesMax: 32 * 1024,
  /** Bytes of one chunk on a worker's disk; a compressed file and one of JSON arrays are never cut. */
  localBytesMax: 2 * 1024 * mib,
  /** Bytes of a broadcast table's file: every thread loads it. */
  tableBytesMax: 64 * mib,
  /** Bytes of the first read for a border or a footer, multiplied until it is enough. */
  firstReadBytes: 64 * 1024,
  borderBytesMax: 4 * mib,
  /** Borders and footers searched at the same time. */
  bordersAtOnce: 8,
  /** Ranges of a Parquet file that are nearer to each other than this are fetched together. */
  gapBytes: 256 * 1024,
  /** Records of one file of a chunk that may be rejects, if any is: DuckDB keeps some 400 bytes of each. */
  rejectsMax: 200_000,
  /** Levels of arrays and objects in a JSON file: DuckDB recurses, and 30,000 end the process. */
  jsonLevelsMax: 1_000,
  /** Rejects that a report shows. */
  rejectsShown: 5,
} as const;
