/**
 * Limits and timings of runs: unit in the name, default, reason, and for vendor numbers the source. The
 * election's own timings are in `election/settings.ts`; those of user code in `calculationLimits.ts`.
 */
export const limits = {
  /** Packs that `finish` folds directly, without shards between: one list page with metadata reads them all. */
  directPacksMax: 256,
  /** Packs of one shard: ten of them are one list page of at most 5,000 names. */
  shardPacksMax: 500,
  /** Nodes folded into one of the next level, and by `finish`. */
  fanIn: 1000,
  /** Names on one page of a list (learn.microsoft.com/rest/api/storageservices/list-blobs). */
  listPageMax: 5_000,
  /** Deletes in one batch request. The service takes 256 (learn.microsoft.com/rest/api/storageservices/blob-batch), but
   *  the emulator answers nobody else meanwhile: 12 ms a delete at 3,000 blobs, and a leader has 0.9 s for a beat. */
  blobBatchMax: 32,
  /** List pages of one loop of a leader, over all runs; so many are left for the runs however long the list of markers is. */
  pagesPerLoopMax: 25,
  pagesForRunsMin: 5,
  /** A run whose poll failed is polled again after this, then after twice as long; the log tells of it so often. */
  backoffMs: 500,
  backoffMsMax: 30_000,
  backoffToldEveryMs: 60_000,
  /** Packs aimed at in a run: enough to balance a few hundred workers, few enough to cost nothing. */
  packsAimed: 200,
  /** A pack much shorter than this is all overhead. */
  packMsMin: 250,
  /** A pack this long is renewed once by nobody: the host first renews a message after five minutes. */
  packMsMax: 25_000,
  /** Chunks computed while planning to learn how long one takes; spread over the run. */
  planSamples: 5,
  /** Planning stops taking samples once they took this long together. */
  planSampleMsMax: 2_000,
  /** Bytes of a partial that also ride in its metadata, before base64url: metadata holds 8 KB with names
   *  (learn.microsoft.com/rest/api/storageservices/setting-and-retrieving-properties-and-metadata). */
  inlineBytesMax: 4_096,
  /** Bytes of partials that a fold holds at once: two of the largest, so that any number can be folded. */
  foldBytesMax: 64 * 1024 * 1024,
  /** Concurrent reads of partials that do not ride in metadata. */
  readsAtOnce: 16,
  /** Packs sent and not finished, over all workers, unless the run says otherwise. */
  capDefault: 2_000,
  capMax: 100_000,
  /** Packs in flight until the first outcomes tell how fast they go: five minutes of work for twenty threads, but no
   *  more than a few packs for each of a few hundred workers. */
  windowFirstMs: 6_000_000,
  windowFirst: 256,
  windowMin: 8,
  /** Outcomes needed before rate and mean are believed. */
  outcomesForRate: 8,
  /** Seconds of work kept in the queue beyond two packs per worker. */
  windowAheadMs: 5_000,
  /** Packs at the head of a run that go to the urgent queue, so that a run is under way at once. */
  urgentFirstPacks: 8,
  /** While other runs compute, a run has its fair share of the urgent queue for so many of its first packs. */
  urgentYoungPacks: 256,
  /** Terms kept in a run's state: a run that changed hands more often is told by the latest. */
  termsKept: 64,
  /** A message put that got no answer is tried again so often, beside the SDK's own tries. */
  sendTries: 3,
  /** Sends between two writes of the state: what a crash may send twice. */
  sendsPerWriteMax: 500,
  /** At 30 ms a put this is 3,200 a second; a queue takes 2,000 (Scalability targets for Queue Storage). */
  sendsAtOnce: 96,
  /** While no more than this are computed at once; fewer for packs that take longer than short ones. */
  sendsAtOnceMin: 16,
  shortPackMs: 3_000,
  /** A put without an answer for so long is made once more, for this share of the puts at most. */
  hedgeAfterMs: 250,
  hedgesShare: 0.01,
  /** Rounds of sends and a state write for one run before the other runs have their turn. */
  sendRoundsMax: 4,
  /** Runs that one leader advances at the same moment. */
  runsAtOnce: 8,
  /** State writes at the same moment when a leader ends its term. */
  writesAtOnce: 64,
  /** State writes that only record progress are at least this far apart. */
  progressWriteMs: 1_000,
  /** Failure records are looked for this often at most; and as often as this where the leader looks slowly. */
  failuresEveryMs: 1_000,
  failuresEverySlowMs: 8_000,
  /** The queues are counted this often at most, and only while nothing of a run has ended for long. */
  queuesEveryMs: 60_000,
  /** Blobs that one look deletes of a run that is being deleted: other runs wait meanwhile. */
  deletesPerLook: 500,
  /** Runs that one slice of the expiry looks at, with some reads each, and how many of them at the same time. */
  expiryRunsMax: 100,
  expiryReadsAtOnce: 16,
  /** Tries of one page of the expiry's list, beside the SDK's own: one that is refused for good is given up. */
  expiryPageTries: 3,
  /** What was given up is swept away this much later than its last writer can be at work. */
  lateWritersMs: 3_600_000,
  /** The expiry is due once in each of these, counted from 1970 by storage's clock: once a day (UTC). */
  expiryEveryMs: 86_400_000,
  /** Durations kept for p95 and mean. */
  durationsKept: 200,
  /** Places by which a message may come out of order, in a queue that is only roughly first in, first out. */
  outOfOrderPacks: 8,
  /**
   * A pack that was begun this many p95 ago is a straggler, and a plan, combine or finish after as many times the
   * longest of its kind. The allowance for messages out of order assumes it, see `outOfOrderMs`.
   */
  stragglerFactor: 3,
  /** A pack is never a straggler before this. */
  lateMsMin: 2_000,
  /** Before the first outcome a pack is a straggler after `stragglerFactor` times the planned pack time and this. */
  lateFirstMs: 30_000,
  /** Resends of a straggler once an attempt of a repeated send is known to have begun. */
  lateSendsMax: 1,
  /** And while none is: with the first send at most four processes begin the work before the host tells of any. */
  lateSendsUnbegunMax: 3,
  /** Attempts of work that throws, in one send. */
  attemptsDefault: 5,
  attemptsMax: 100,
  /** Sends of one piece of work that ended at its time limit before it counts as failed. */
  overtimeSendsMax: 2,
  /** Sends of one piece of work that ended with their process before it counts as failed. */
  diedSendsMax: 3,
  /** From so many on it runs alone in its process, so that it takes no other work along. */
  diedSendsAlone: 2,
  /** A worker that cannot tell how a send ended tries again for so long; a new process would have to guess. */
  endRetryMs: 60_000,
  /** Duplicates outstanding at a time: this or the share below of the packs, whichever is more. */
  duplicatesMin: 8,
  duplicatesShare: 0.05,
  /** A plan, combine or finish is never a straggler before this. */
  taskLateMs: 30_000,
  /** The host hides a taken message for ten minutes, hard-coded (Azure/azure-webjobs-sdk QueueListener.cs). */
  hostHidesMs: 600_000,
  /** Sends of one piece of work that ended in poison before it counts as failed. */
  poisonedSendsMax: 3,
  /** One attempt of a pack, from when a thread takes it; well below `functionTimeout`. */
  packLimitMs: 300_000,
  /** A worker believes what it read of a run's marker for so long. */
  markerTrustMs: 5_000,
  /** A run whose code no instance has fails after so long without any outcome: time to finish or undo a deployment. */
  identityWaitMs: 600_000,
  /** A worker that enqueues work again for other code says so this often, and is believed for a few times as long. */
  identityNoteEveryMs: 30_000,
  identityNoteTrustMs: 120_000,
  /** A message that may succeed later is enqueued again, hidden for this: storage was busy, or its version is newer. */
  retryDelayS: 30,
  /** The same for urgent work that other code is to do: each level of a run's tree waits for its few messages. */
  otherCodeDelayS: 5,
  /** A message of a newer version is enqueued again so often: a day, which no rolling deploy takes. Then it is dropped. */
  heldForNewerMax: 2_880,
  /** Plan, combine and finish that work for longer say so this often; see `taskLateMs`. */
  taskLifeEveryMs: 10_000,
  /** A worker asks this often whether what it computes for longer than this is still wanted: a cancel ends threads
   *  within 5 s. */
  wantedEveryMs: 4_500,
  /** Wakes are sent at once and after this: the first may meet a leader that is just leaving. */
  secondWakeS: 5,
  /** Parameters of a run, as JSON. */
  paramsBytesMax: 256 * 1024,
  /** Characters of an error kept in a record. */
  errorCharactersMax: 2_000,
} as const;

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
