/**
 * Limits and timings of runs, in groups: a factor stands beside what depends on it. Each has its unit in its name, its
 * reason and, for vendor numbers, the source. The election's timings are in `election/settings.ts`.
 */
export const limits = {
  // The tree of partials.
  /** Packs that `finish` folds directly, without shards: one list page with metadata reads them all. */
  directPacksMax: 256,
  /** Packs of one shard, a power of two: ten shards are about one list page. */
  shardPacksMax: 512,
  /** Nodes folded into one node of the next level, and by `finish`; a power of two. */
  fanIn: 1024,
  /** Bytes of partials that a fold holds at once: two of the largest, so that any number can be folded. */
  foldBytesMax: 64 * 1024 * 1024,
  /** Bytes of a partial that also ride in its metadata, before base64url: metadata holds 8 KB with names
   *  (learn.microsoft.com/rest/api/storageservices/setting-and-retrieving-properties-and-metadata). */
  inlineBytesMax: 4_096,
  /** Chunks of a pack that may have gaps, of which a bitmap rides in metadata too, and gaps whose errors a record tells. */
  gapsChunksMax: 32_768,
  gapsToldMax: 20,
  /** Partials of the run that is reused of which a worker keeps the names: some 100 bytes each. What is beyond is computed. */
  reusedListedMax: 250_000,
  /** Concurrent reads of partials that do not ride in metadata. */
  readsAtOnce: 16,

  // The size of packs.
  /** Intended number of packs in a run. As a pack is a power of two of chunks, there are up to 1.42 times as many, which
   *  `finish` still folds directly; for each worker that a plan counts on; and where more would be shorter than `packMsShort`. */
  packsAimed: 180,
  packsPerWorker: 4,
  packsAimedShort: 40,
  packMsShort: 2_000,
  /** Where there would be fewer packs, they are rather too short than too long. */
  packsFew: 20,
  /** At least so many for a run that keeps its partials, if it has as many chunks: a changed one costs its pack. */
  packsReusable: 128,
  /** A shorter pack is mostly overhead. */
  packMsMin: 250,
  /** A longer pack would be slow to balance; the host first renews a message after five minutes. */
  packMsMax: 25_000,
  /** A pack is planned for at most this share of its time limit, as chunks and workers differ. */
  packLimitShare: 0.25,
  /** Samples computed while planning to learn how long a chunk takes, spread over the run. */
  planSamples: 5,
  /** They take at most this share of the run's expected time, or `packMsMin` if that is more, */
  planSampleShare: 0.05,
  /** and each taken once never more than this. */
  planSampleMsMax: 2_000,
  /** They are taken again for up to `packMsMin`, since code may be slow at first, but at most so often; with more chunks
   *  where they were shorter than this, as too little of it is the chunk's own time. */
  planRounds: 8,
  planSampleMsMin: 5,

  // One loop of a leader.
  /** Names on one page of a list (learn.microsoft.com/rest/api/storageservices/list-blobs). */
  listPageMax: 5_000,
  /** Names of neighboring shards that are listed together: ten of the largest, whose last few may need a second page. */
  namesTogetherMax: 5_120,
  /** List pages of one loop over all runs, and those that remain for them, however long the list of markers is. */
  pagesPerLoopMax: 25,
  pagesForRunsMin: 5,
  /** Shards that are recounted ahead of the cursor at a time. */
  recountAhead: 10,
  /** Runs that a leader advances at the same time. */
  runsAtOnce: 8,
  /** State writes that only record progress are at least this far apart. */
  progressWriteMs: 1_000,
  /** State writes at the same time when a leader ends its term. */
  writesAtOnce: 64,
  /** Failure records are listed at most this often, */
  failuresEveryMs: 1_000,
  /** and at least this often if the leader polls slowly. */
  failuresEverySlowMs: 8_000,
  /** Terms kept in a run's state: a run that changed hands more often keeps the latest. */
  termsKept: 64,
  /** A marker younger than this has no state yet, as a rule: the first state is then made before one is read. */
  newRunMs: 10_000,
  /** A run whose poll fails is polled again after this backoff, which doubles up to the maximum. */
  backoffMs: 500,
  backoffMsMax: 30_000,
  /** Such a failure is logged at most this often. */
  backoffToldEveryMs: 60_000,

  // Packs in flight.
  /** Packs sent and not finished, over all workers, unless the run sets a cap. */
  capDefault: 4_000,
  capMax: 100_000,
  /** Work in flight until the first outcomes tell the rate: five minutes for twenty threads, */
  windowFirstMs: 6_000_000,
  /** and beside other runs a minute for one, */
  windowFirstBesideMs: 60_000,
  /** but at most this many packs: a few for each of a few hundred instances. */
  windowFirst: 256,
  windowMin: 8,
  /** A pack takes a worker for at least this long, however little it computes: its calls of storage. */
  packCallsMs: 20,
  /** Outcomes needed before rate and mean are trusted. */
  outcomesForRate: 8,
  /** Durations kept for p95 and mean. */
  durationsKept: 200,
  /** Work kept in the queue beyond two packs per worker: more than is computed until a dead leader is replaced. */
  windowAheadMs: 8_000,
  /** A run that has this much more in the queue than its share is overtaken by others. */
  tooMuchMs: 4_000,
  /** Packs of a run that overtake at a time: each has an entry in its state. */
  overtakingMax: 256,
  /** First packs of a run that go to the urgent queue, so that it starts at once. */
  urgentFirstPacks: 8,

  // Sends.
  /** Tries of an enqueue without an answer, in addition to the SDK's own. */
  sendTries: 3,
  /** Sends between two writes of the state: what a crash may send twice. */
  sendsPerWriteMax: 500,
  /** Rounds of sends and a state write for one run before the other runs have their turn. */
  sendRoundsMax: 4,
  /** Concurrent enqueues. At 30 ms each this is 3,200 a second; a queue takes 2,000 (Scalability targets for Queue Storage). */
  sendsAtOnce: 96,
  /** The same while at most this many packs compute at once; fewer for packs that are not short. */
  sendsAtOnceMin: 16,
  shortPackMs: 3_000,
  /** The worker of the leader's own process takes work that a thread begins within this, less than a poll of a queue. */
  beginsHereMs: 500,
  /** A second wake follows the first after this: the first may reach a leader that is just leaving. */
  secondWakeS: 5,

  // Work in flight.
  /** Heartbeats and queues are read at most this often, */
  observeEveryMs: 1_000,
  /** and this often while all runs are in full swing. */
  observeEverySlowMs: 6_000,
  /** Messages of one peek (learn.microsoft.com/rest/api/storageservices/peek-messages). */
  peekMax: 32,
  /** An enqueue is in its queue after this. */
  sendMs: 5_000,
  /** Work that nobody has is lost after this many times what its kind takes (p95; the longest of a task), */
  slowFactor: 3,
  /** but not before this, */
  lostMsMin: 2_000,
  /** not later than this (a process says after `heartbeatAfterMsMax` that it has the work), */
  lostMsMax: 10_000,
  /** and after this where nothing of its kind has ended. */
  lostMsUnknown: 4_000,
  /** Each loss doubles that time, this often. */
  lostDoublings: 6,
  /** So many losses before anybody began it fail the work. */
  lostMax: 10,
  /** A process whose heartbeat is silent for this long counts as dead where its death counts against the work. */
  isolatedDeathMs: 15_000,
  /** So few packs at the very end of a run are doubled when they are slow. */
  lastPacks: 1,
  /** The host hides a taken message for ten minutes, hard-coded (Azure/azure-webjobs-sdk QueueListener.cs). */
  hostHidesMs: 600_000,

  // Threads.
  /** A thread is overdue after `slowFactor` times what its task was planned for, but not before this. */
  noThreadMs: 10_000,
  /** The next one is kept this long for urgent work: the host deletes a message and polls, and a worker reads a few blobs. */
  keptForUrgentMs: 500,

  // Heartbeats.
  /** Work is in its process's heartbeat once it has lasted for twice the median of its run, but not before this */
  heartbeatAfterMs: 1_000,
  /** and not later than this. */
  heartbeatAfterMsMax: 5_000,
  /** A heartbeat is written again after a quarter of the longest time that it tells of, but not before this */
  heartbeatMsMin: 2_000,
  /** and not later than this. */
  heartbeatMsMax: 10_000,
  /** A leader deletes a heartbeat that is older: people have had time to see how its process ended. */
  heartbeatKeptMs: 900_000,

  // Attempts, and when work counts as failed.
  /** Time limit of one attempt of a pack, from when a thread takes it; well below `functionTimeout`. */
  packLimitMs: 300_000,
  /** Attempts of work that throws, in one send. */
  attemptsDefault: 5,
  attemptsMax: 100,
  /** A chunk that threw waits this long at most in its thread for its next attempt; longer, its pack waits as a message. */
  threadPauseMsMax: 10_000,
  /** Sends of a piece of work before it counts as failed: those that ended at its time limit, */
  overtimeSendsMax: 2,
  /** with a process in which it was isolated, */
  diedSendsMax: 3,
  /** and in poison. */
  poisonedSendsMax: 3,
  /** So many chunks of a pack that ended its sends are excluded from later ones, before it fails whole. */
  excludedMax: 8,
  /** A worker that cannot record how a send ended retries for this long; a new process would have to guess. */
  endRetryMs: 60_000,
  /** Characters of an error kept in a record. */
  errorCharactersMax: 2_000,

  // Messages for later or for other code, and unwanted work.
  /** A queue takes 64 KiB (learn.microsoft.com/rest/api/storageservices/put-message); the copy for a later attempt adds some. */
  messageBytesMax: 64 * 1024 - 128,
  /** A message that may succeed later is requeued, hidden for this: storage was busy, or its version is newer. */
  retryDelayS: 30,
  /** A message of a newer version is requeued this often, 24 hours at `retryDelayS`, and then dropped. */
  heldForNewerMax: 2_880,
  /** Delay of urgent work that other code is to do: each level of a run's tree waits for its few messages. */
  otherCodeDelayS: 5,
  /** A worker that requeues work for other code notes it this often, and is trusted for four times as long. */
  identityNoteEveryMs: 30_000,
  identityNoteTrustMs: 120_000,
  /** A note that is older than the last outcome by more than this no longer counts: the right code was there after it. */
  identityNoteBeforeMs: 10_000,
  /** A run whose code no instance has fails after this long without an outcome: time to finish or undo a deployment. */
  identityWaitMs: 600_000,
  /** A worker trusts what it read of a run's marker for this long. */
  markerTrustMs: 5_000,
  /** A worker asks this often whether work that runs longer is still wanted: a cancel ends threads within 5 s. */
  wantedEveryMs: 4_500,

  // Deletion and expiry.
  /** Deletes in one batch request. The service takes 256 (learn.microsoft.com/rest/api/storageservices/blob-batch), but
   *  the emulator answers nobody else meanwhile: 12 ms a delete at 3,000 blobs, and a leader has 0.9 s for a heartbeat. */
  blobBatchMax: 32,
  /** Blobs that one poll deletes of a deleted run: other runs wait meanwhile. */
  deletesPerPoll: 500,
  /** Expiry is due once in each such period, counted from 1970 by storage's clock; beside runs a slice is made this often. */
  expiryEveryMs: 86_400_000,
  expiryBesideEveryMs: 60_000,
  /** Runs that one slice of the expiry judges at the same time: those that expired are deletions, which other runs wait for. */
  expiryReadsAtOnce: 16,

  /** Parameters of a run, as JSON. */
  paramsBytesMax: 256 * 1024,
  /** Levels of lists and objects in one parameter: some thousands would overflow the stack of recursive code. */
  paramsLevelsMax: 100,
  /** Of a stored document, which holds parameters or a chunk's input in a few levels of its own. */
  documentLevelsMax: 200,
  /** The largest that we write have a few MB: segments of a plan, and the states of runs with millions of packs. */
  documentBytesMax: 64 * 1024 * 1024,
  /** Of a spec or schedule: parameters twice, as given and as checked, and little else. */
  requestBytesMax: 1024 * 1024,
} as const;

/** Limits of what a calculation may plan and return. */
export const calculationLimits = {
  /** Chunks that one thread computes at the same time: some hundred sockets, and as many parts in its memory. */
  concurrencyMax: 256,
  /** Chunks of one run: with more, lists and state would not stay small. */
  chunksMax: 10_000_000,
  /** One chunk's input as JSON: a segment of a few thousand must still be read whole. */
  inputBytesMax: 64 * 1024,
  /** Inputs handed over at once while planning; each batch becomes a segment. */
  inputsPerBatch: 5_000,
  /** Bytes of such a batch as JSON at which it is closed early: each worker that needs it reads it whole. */
  batchBytesMax: 4 * 1024 * 1024,
  /** One encoded partial: a fold holds a bounded number of them in a worker's memory. */
  partialBytesMax: 32 * 1024 * 1024,
  /** One saved file: a thread, and then the process that uploads it, hold it whole. */
  savedBytesMax: 128 * 1024 * 1024,
  /** One result. Its copy from the thread keeps the event loop busy for 0.8 s (measured; a heartbeat has 0.9 s) and takes 1.1 GB at
   *  its peak, of 2 GB. JSON is one text, of 2^29 - 24 characters at most (`buffer.constants.MAX_STRING_LENGTH`). */
  resultBytesMax: 512 * 1024 * 1024,
  /** Characters of a result's content type: an HTTP header and a line of `status`. */
  contentTypeCharactersMax: 200,
  /** Characters of a result's extension: the end of a blob name and of a file name. */
  extensionCharactersMax: 16,
} as const;
