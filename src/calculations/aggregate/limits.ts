/** What one aggregation may hold. Every worker holds a few partials, and a partial has at most 32 MB. */
export const aggregateLimits = {
  /** Groups of a run: a count and a few sums of each fit into a partial and, as a map, into 100 MB. */
  groupsMax: 200_000,
  /** Bytes of all groups of a partial; below the engine's limit by what the report may have. */
  partialBytesMax: 31 * 1024 * 1024,
  /** Different values of one group that `top` counts, one by one since its answer must be exact. */
  topValuesMax: 10_000,
  /** Bad records and bad numbers that the report shows, each. */
  offendersMax: 5,
} as const;
