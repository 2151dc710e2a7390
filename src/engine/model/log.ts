/** The catalog of log events: one function per event, with its fields. The Functions app writes each as a line of JSON. */
export interface LogEvent {
  readonly level: "debug" | "info" | "warn" | "error";
  /** Stable name in kebab-case, for queries and alerts. */
  readonly event: string;
  readonly fields: Readonly<Record<string, string | number | boolean | undefined>>;
}

export type Log = (event: LogEvent) => void;

type Run = { readonly run: string; readonly uid: string };
/** What is known of a run: who submitted it, what for, and what it cost. */
type About = {
  readonly calculation?: string | undefined;
  readonly tags?: string | undefined;
  readonly by?: string | undefined;
  readonly dollars?: number;
};
type Piece = Run & {
  readonly kind: string;
  readonly send: number;
  readonly attempt: number;
  /** As in names of blobs, `{shard}/{pack}` for a pack; absent for clean-up and what clients ask. */
  readonly work?: string | undefined;
};
/** `ms` of the attempt; `waitedMs` of a message that was delivered for the first time, from when it was sent. */
type Attempted = Piece & {
  readonly ms: number;
  readonly waitedMs?: number | undefined;
  readonly calculation?: string | undefined;
};

const event =
  <Fields extends LogEvent["fields"]>(level: LogEvent["level"], name: string) =>
  (fields: Fields): LogEvent => ({ level, event: name, fields });

export const logEvents = {
  /** Events of the election: acquired, claimed, lost, released and so on. */
  election: (level: LogEvent["level"], name: string, fields: LogEvent["fields"]): LogEvent => ({
    level,
    event: `lease-${name}`,
    fields,
  }),
  /** `silentS`: age of the record of the leader that was followed. `cause`: why the race had no success. */
  raceEnded: event<{ outcome: string; term?: number; cause?: string; silentS?: number; ms: number }>(
    "info",
    "race-ended",
  ),
  /**
   * Another app on this namespace has other settings: an error if something is lost or fails by it, else a warning. Of the
   * same app, which is being deployed, it is no problem.
   */
  settingsDiffer: (
    level: LogEvent["level"],
    fields: { message: string; holder: string; app?: string; version?: string },
  ): LogEvent => ({ level, event: "settings-differ", fields }),
  /**
   * A gauge, at most once a minute: the number of open runs of an active leader; 0 once, at the end of a term. `polls`: how
   * often this process has listed them since it last told.
   */
  leading: event<{ term: number; runs: number; polls: number }>("info", "leading"),
  /** Submitted over HTTP; no leader has seen the run. `ms`: the submit took so long. */
  runSubmitted: event<Run & { by?: string | undefined; ms: number }>("info", "run-submitted"),
  runTakenOver: event<Run & { term: number; phase: string; packsDone: number; paused: boolean }>(
    "info",
    "run-taken-over",
  ),
  runPhase: event<Run & { from: string; to: string; term: number }>("info", "run-phase"),
  packsSent: event<Run & { term: number; packs: number; again: number; cursor: number }>(
    "debug",
    "packs-sent",
  ),
  /** `tags` as `team=risk, date=2026-11-23`; `dollars` an estimate at list prices. */
  runEnded: event<
    Run & About & { phase: string; ms: number; packs: number; resends: number; error?: string | undefined }
  >("info", "run-ended"),
  /** The queue of completion events did not take that of this run; its blob under `_closed/` has it. */
  completionEventLost: event<Run & { queue: string; why: string }>("error", "completion-event-lost"),
  /** `by` who asked for it; `expiry` where nobody did. */
  runDeleted: event<Run & { term: number; by?: string | undefined }>("info", "run-deleted"),
  /** `lateS`: from when it was due. */
  scheduleSubmitted: event<{ schedule: string; run: string; lateS: number }>("info", "schedule-submitted"),
  /** `due` has no run. `why`: `overlap`, `id-taken`, or `missed`: so are all after it until an hour ago. */
  scheduleSkipped: event<{ schedule: string; due: string; why: string }>("warn", "schedule-skipped"),
  /** Its document does not decode: nothing is due until it is made anew. */
  scheduleStopped: event<{ schedule: string; message: string }>("error", "schedule-stopped"),
  expirySwept: event<{ expired: number; whole: boolean }>("info", "expiry-swept"),
  runSkipped: event<Run & { code: string; message: string }>("warn", "run-skipped"),
  /** The container of active runs has a blob that is no run's marker; it is skipped. Each process tells once. */
  strayMarker: event<{ name: string }>("warn", "stray-marker"),
  /** A process's heartbeat does not decode, so its work counts as work without one. Each process tells once. */
  unreadableHeartbeat: event<{ name: string; message: string }>("warn", "unreadable-heartbeat"),
  /** A run or schedule is of a version that this release does not read: an instance that does has to lead it. */
  needsOtherVersion: event<Run & { message: string }>("warn", "needs-other-version"),
  /** What ended a term early, such as a list that storage denies; the runs continue in the next term. */
  leadingFailed: (
    level: LogEvent["level"],
    fields: { term: number; code: string; message: string },
  ): LogEvent => ({ level, event: "leading-failed", fields }),
  /** Another version wrote something, so this instance leaves the lease to others for a while. */
  deposed: event<{ term: number; seenTerm: number }>("warn", "deposed"),
  workDone: event<Attempted & { outcome: string }>("debug", "work-done"),
  workFailed: event<Attempted & { code: string; message: string; last: boolean }>("warn", "work-failed"),
  workDropped: event<Piece & { why: string }>("info", "work-dropped"),
  /** All threads were overdue, so its message went back to the queue. */
  workPutBack: event<Piece & { ms: number }>("info", "work-put-back"),
  messageDropped: event<{ queue: string; code: string; message: string; sha256: string }>(
    "warn",
    "message-dropped",
  ),
  /** A message that a worker took for the first time after more than five minutes (urgent) or an hour. */
  messageWaited: event<{ queue: string; waitedS: number }>("warn", "message-waited"),
  /** A collector of spans and metrics did not take some; told once in ten minutes. */
  poisonRecorded: event<{ queue: string; run?: string; kind?: string; outcome: string }>(
    "warn",
    "poison-recorded",
  ),
  unexpected: event<{ where: string; message: string }>("error", "unexpected"),
} as const;
