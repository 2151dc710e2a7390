/** Generated from the schemas of the API: `npx vitest run --project unit packages/client/test/apiTypes -u`. */

export type RunRequest = {
  readonly calculation: string;
  readonly params?: Readonly<Record<string, unknown>> | undefined;
  /** Makes the submit idempotent; drawn by default. */
  readonly id?: string | undefined;
  /** Chunks per pack; chosen by the planning worker by default. */
  readonly packSize?: number | undefined;
  /** Packs computed at once, as you expect: packs of automatic size are small enough for so many. By default the threads that are seen at work. */
  readonly workers?: number | undefined;
  /** Packs in flight at most. */
  readonly cap?: number | undefined;
  /** Its part of the workers beside other runs: four times that of a normal run, or a quarter. No part of the request. */
  readonly priority?: "high" | "normal" | "low" | undefined;
  /** Dollars at most, by the estimate, retries included; beyond them it sends nothing more and waits. By default that of the app. */
  readonly maxCost?: number | undefined;
  /** Chunks that may be missing; none by default. */
  readonly tolerate?: {
    readonly chunks: number;
  } | {
    readonly percent: number;
  } | undefined;
  /** Time limit of one attempt, unless the limit of the app is lower. */
  readonly packLimitMs?: number | undefined;
  /** Attempts at work that throws. */
  readonly attempts?: number | undefined;
  /** Seconds before its second, third … attempt, of which the last holds for all further ones. No part of the request. */
  readonly retryAfterS?: readonly number[] | undefined;
  /** So many `ms` after a leader first sees the run or its retry it fails, or with `keep` finishes with what is done. */
  readonly deadline?: {
    readonly ms: number;
    readonly keep?: boolean | undefined;
  } | undefined;
  /** The id of an ended run: partials of it are copied where code, parameters and inputs are the same. Implies `keepPartials`. */
  readonly reuse?: string | undefined;
  /** With `reuse`: partials of other code are copied too, and the manifest names both codes. */
  readonly acceptCode?: boolean | undefined;
  /** The partials stay when the run is complete, until it expires: for runs that reuse it. */
  readonly keepPartials?: boolean | undefined;
  /** Words of the caller about the run. The same request with other tags is the same run, and keeps its first ones. */
  readonly tags?: Readonly<Record<string, string>> | undefined;
};

export type PlanRequest = {
  readonly calculation: string;
  readonly params?: Readonly<Record<string, unknown>> | undefined;
  /** Chunks per pack; chosen by the planning worker by default. */
  readonly packSize?: number | undefined;
  /** Packs computed at once, as you expect: packs of automatic size are small enough for so many. By default the threads that are seen at work. */
  readonly workers?: number | undefined;
  /** Dollars at most, by the estimate, retries included; beyond them it sends nothing more and waits. By default that of the app. */
  readonly maxCost?: number | undefined;
};

/** RFC 9457 problem details. */
export type Problem = {
  type: string;
  title: string;
  status: number;
  detail: string;
  /** Stable, for programs. */
  code: string;
  /** The one field that is wrong. */
  field?: string;
};

export type Runs = {
  runs: (Run | EndedRun | UnreadableRun)[];
  /** Absent on the last page. A page that a filter left short may still have one. */
  cursor?: string;
};

export type Run = {
  run: string;
  uid: string;
  calculation: string;
  /** Identity of the code that computes or computed it. */
  code?: string;
  /** The run waits, because the instances have other code. */
  otherCode?: {
    needed: string;
    theirs: string[];
  };
  params: unknown;
  /** `waiting`: accepted, but no leader has seen it yet. */
  phase: "waiting" | "planning" | "computing" | "finishing" | "complete" | "failed" | "cancelled";
  /** The phase for people. `not-accepted`: its submit did not complete; submitting it again with the same id completes it. */
  word: "waiting" | "planning" | "computing" | "finishing" | "complete" | "failed" | "cancelled" | "complete-with-gaps" | "cancelling" | "deleting" | "not-accepted";
  /** False once the phase is final. */
  active: boolean;
  paused: boolean;
  /** `paused` because nothing more fits into its max cost; absent where a person paused it. */
  pauseReason?: "max-cost";
  /** The run finishes with what is done: by a cancel that keeps it, or past its deadline. */
  keep: boolean;
  generation: number;
  /** Packs in flight at most. */
  cap?: number;
  /** Dollars at most: then it sends nothing more. */
  maxCost?: number;
  /** Absent until planned. `sent` counts packs that are done, failed or in flight, or were in flight when the run ended early; `resent` counts their resends. */
  packs?: {
    total: number;
    done: number;
    failed: number;
    /** Of a run that ends early: neither done nor known to have failed when it did. Absent if none. */
    givenUp?: number;
    sent: number;
    resent: number;
  };
  chunks?: Counts;
  stop?: {
    /** The chunks of the plan. */
    of: number;
    /** The prefix that it is asked about next; packs with gaps count as done. */
    next?: {
      chunks: number;
      packs: {
        total: number;
        done: number;
        failed: number;
      };
    };
    /** It stopped after so many chunks. */
    after?: number;
  };
  rate?: {
    packsPerS: number;
    chunksPerS: number;
  };
  submittedAt: string;
  /** `entra:`, `azure:` or `user:` and a name, or `key`. Absent where the submit told nobody. */
  submittedBy?: string;
  /** Absent where it is normal. */
  priority?: "high" | "normal" | "low";
  tags?: Record<string, string>;
  finishedAt?: string;
  /** After it the run fails, or with `keep` finishes with what is done. */
  deadline?: {
    at: string;
    keep: boolean;
  };
  /** Work that waits to be attempted again: how much, when the first of it is, and why that failed. */
  waits?: {
    works: number;
    work: string;
    code: string;
    message: string;
    until: string;
  };
  /** The latest failed attempt at work that is still tried. */
  trying?: {
    work: string;
    code: string;
    message: string;
    attempts: number;
    attemptsMax: number;
  };
  /** From the submit to the end, and of each retry likewise: the time that a run lay failed is none of its work. */
  elapsedS: number;
  /** What each generation took and cost, oldest first: time, calls and cost of the run are their sums. Absent where there is one; the first entry of very many is of several. */
  generations?: ({
    generation: number;
    elapsedS: number;
    calls: Calls;
    /** Storage and compute at list prices: an estimate. */
    dollars: number;
    /** Storage calls. */
    storageDollars: number;
    /** Instances of Flex Consumption while they led or computed. */
    computeDollars: number;
    /** GB-seconds of these instances. */
    gbS: number;
    /** Deliveries of the run's messages. */
    executions: number;
  })[];
  /** Seconds until the last pack, or the last of the prefix in `stop`, has an outcome: the estimate, and a band that holds the truth in four of five cases. Absent without a basis. */
  timeLeft?: {
    expectedS: number;
    lowS: number;
    highS: number;
  };
  /** The run that has the workers, while this one waits for some and nothing of it ends. */
  behind?: string;
  /** The leaders of this run, oldest first. */
  terms: ({
    term: number;
    holder: string;
    since: string;
  })[];
  /** The last command, and the leader's answer. */
  command?: {
    number: number;
    want?: "run" | "paused" | "cancelled" | "delete";
    /** `pending`: no leader has seen the command yet. */
    answer: "pending" | "done" | "too-late" | "refused";
    /** Who gave it. */
    by?: string;
  };
  /** By the same formula as of a plan, from what was measured up to the last write of the state. */
  calls: Calls;
  /** Storage and compute at list prices: an estimate. */
  dollars: number;
  /** Storage calls. */
  storageDollars: number;
  /** Instances of Flex Consumption while they led or computed. */
  computeDollars: number;
  /** GB-seconds of these instances. */
  gbS: number;
  /** Deliveries of the run's messages. */
  executions: number;
  error?: {
    code: string;
    message: string;
  };
  result?: {
    generation: number;
    contentType: string;
    bytes: number;
    sha256: string;
    folded: number;
    complete: boolean;
    missing: ({
      from: number;
      to: number;
    })[];
    stopped?: {
      of: number;
    };
    code: string[];
    mixed?: boolean;
    notes?: string[];
  };
};

export type Counts = {
  total: number;
  done: number;
  failed: number;
  /** Of a run that ends early: neither done nor known to have failed when it did. Absent if none. */
  givenUp?: number;
};

/** Storage calls by billing class. */
export type Calls = {
  write: number;
  list: number;
  read: number;
  other: number;
  queue: number;
  delete: number;
};

/** What a list shows of an ended run. */
export type EndedRun = {
  run: string;
  uid: string;
  generation: number;
  submittedAt: string;
  /** From the submit to the end, and of each retry likewise: the time that a run lay failed is none of its work. */
  elapsedS: number;
  /** `entra:`, `azure:` or `user:` and a name, or `key`. Absent where the submit told nobody. */
  submittedBy?: string;
  tags?: Record<string, string>;
  phase: "complete" | "failed" | "cancelled";
  word: "complete" | "complete-with-gaps" | "failed" | "cancelled";
  active: false;
  /** Empty if its request does not decode. */
  calculation: string;
  /** Absent if they are long. */
  params?: unknown;
  code?: string;
  /** Absent if the run was never planned. */
  packs?: Counts;
  chunks?: Counts;
  finishedAt: string;
  result?: {
    sha256: string;
  };
  /** Storage and compute at list prices: an estimate. */
  dollars: number;
  /** Storage calls. */
  storageDollars: number;
  /** Instances of Flex Consumption while they led or computed. */
  computeDollars: number;
  /** GB-seconds of these instances. */
  gbS: number;
  /** Deliveries of the run's messages. */
  executions: number;
  error?: {
    code: string;
    message: string;
  };
};

/** A run whose documents this version cannot read; the other runs are listed all the same. */
export type UnreadableRun = {
  run: string;
  word: "unreadable" | "needs-newer-version" | "needs-older-version";
  active: boolean;
  error: {
    code: string;
    message: string;
  };
};

export type Overview = {
  since: string;
  complete: number;
  /** Complete with gaps. */
  gaps: number;
  failed: number;
  cancelled: number;
  active: number;
  dollars: number;
  /** What failed, has gaps or waits for other code; at most 100, in this order. */
  attention: ({
    run: string;
    calculation: string;
    /** Its state, as lists have it. */
    word: string;
    submittedAt: string;
    /** Of its error. */
    code?: string;
    /** Why. */
    message: string;
    /** The command that helps, and what it does. */
    cure?: {
      command: string;
      text: string;
    };
  })[];
  /** At most 100; those that need attention first. */
  series: Series[];
};

export type Series = {
  /** Of the schedule that submits its runs, or else of the calculation. */
  name: string;
  calculation: string;
  /** Its last runs that have ended, oldest first. */
  runs: ({
    run: string;
    word: string;
    submittedAt: string;
    elapsedS: number;
    dollars: number;
    /** Whether its result has the hash of the one before. Absent without two results. */
    same?: boolean;
  })[];
};

export type Costs = {
  /** The key of the tag by which runs are grouped. */
  by?: string;
  /** The most expensive first. */
  groups: ({
    /** Of that tag; absent for runs without it. */
    value?: string;
    runs: number;
    /** Storage and compute at list prices: an estimate. */
    dollars: number;
    /** Storage calls. */
    storageDollars: number;
    /** Instances of Flex Consumption while they led or computed. */
    computeDollars: number;
    /** GB-seconds of these instances. */
    gbS: number;
    /** Deliveries of the run's messages. */
    executions: number;
  })[];
  total: {
    runs: number;
    /** Storage and compute at list prices: an estimate. */
    dollars: number;
    /** Storage calls. */
    storageDollars: number;
    /** Instances of Flex Consumption while they led or computed. */
    computeDollars: number;
    /** GB-seconds of these instances. */
    gbS: number;
    /** Deliveries of the run's messages. */
    executions: number;
  };
  /** Where the prices are from. */
  source: string;
};

export type Commanded = {
  run: string;
  uid: string;
  kind: "pause" | "resume" | "cancel" | "cap" | "retry" | "delete";
  /** The number of the command, which the status answers. 0 if there never was a command. */
  command: number;
  /** False if an earlier command asked for the same; then `command` is the last one. */
  changed: boolean;
  want: "run" | "paused" | "cancelled" | "delete";
  /** With `cancelled`: the run finishes with what is done. */
  keep: boolean;
  generation: number;
  cap: number;
  maxCost?: number;
  /** False if the wake queue could not be reached: a leader sees the command with its next poll. */
  woken: boolean;
};

export type ResultLink = {
  /** Reads the result, and nothing else, without a key; https only. It is a secret until it expires. */
  url: string;
  expires: string;
  /** Send it as `If-Match`, so that all ranges are of one result. */
  etag: string;
  /** Of the whole result, in hex. */
  sha256: string;
  bytes: number;
};

export type Manifest = {
  v: 1;
  run: string;
  uid: string;
  generation: number;
  calculation: string;
  requestHash: string;
  spec: string;
  plan: string;
  attempt: string;
  blob: string;
  contentType: string;
  bytes: number;
  sha256: string;
  chunks: number;
  folded: number;
  packs: number;
  complete: boolean;
  missing: ({
    from: number;
    to: number;
  })[];
  stopped?: {
    of: number;
  };
  code: string[];
  mixed?: boolean;
  notes?: string[];
  attempts: number;
  terms: ({
    term: number;
    holder: string;
  })[];
  tags?: Record<string, string>;
};

export type Verification = {
  run: string;
  uid: string;
  generation: number;
  /** The run's newest generation and how it ended, if it has no result and an older one is given in its place. */
  newest?: {
    generation: number;
    phase: "planning" | "computing" | "finishing" | "complete" | "failed" | "cancelled";
  };
  /** The result's bytes compared with the SHA-256 in its manifest. */
  result: {
    sha256: string;
    equal: boolean;
  };
  /** `inputs`: the lists of inputs that the plan names, not the bytes of files: a pack that is computed again reads its files under the ETags in those lists, and fails with `file-changed` where one was written since. `none`: the plan is a count and has no inputs. */
  documents: {
    spec: "equal" | "different" | "none";
    plan: "equal" | "different" | "none";
    inputs: "equal" | "different" | "none";
  };
  /** `missing`: packs of which the result lacks a chunk or all; they are never drawn. `not-folded`: the result says that it holds the pack, and keeps no hash of it. `failed`: computing it again failed. `unanswered`: no worker answered in time. */
  packs: {
    total: number;
    missing: number;
    drawn: number;
    equal: number;
    different: number;
    "not-folded": number;
    failed: number;
    unanswered: number;
  };
  /** Packs that are not equal, ascending. */
  others: ({
    pack: number;
    chunks: {
      from: number;
      to: number;
    };
    outcome: "equal" | "different" | "not-folded" | "failed" | "unanswered";
    error?: {
      code: string;
      message: string;
    };
  })[];
  /** Whether the calculation would stop again where it stopped. */
  stop?: {
    asked: number;
    after?: number;
    others: ({
      chunks: number;
      outcome: "unanswered" | "different";
      error?: {
        code: string;
        message: string;
      };
    })[];
  };
  allEqual: boolean;
};

export type Failures = {
  run: string;
  uid: string;
  failures: Failure[];
  /** The same by their errors, the most frequent first; of those listed only. */
  groups: FailureGroup[];
  /** Failed attempts at work that is still tried. */
  trying: Failure[];
  /** Whether there are more failures than requested. */
  more: boolean;
};

/** How one send of one piece of work ended without output, or one chunk of it; or the latest failed attempt of work that is still tried. `chunks` are those that failed, where that is known, and else the whole pack. */
export type Failure = {
  /** `00003/00000042`, `node/1/00003`, `plan` or `finish`. */
  work: string;
  /** The number of the pack, if the work is a pack. */
  pack?: number;
  generation: number;
  send: number;
  cause: "error" | "unreported" | "storage-lost";
  code: string;
  message: string;
  attempts: number;
  attemptsMax?: number;
  final?: boolean;
  laterS?: number;
  chunks?: {
    from: number;
    to: number;
  };
  chunk?: number;
  gaps?: {
    failed: number;
    first: ({
      chunk: number;
      code: string;
      message: string;
    })[];
  };
  /** The inputs of its chunks, in order: only on request, for a listed plan and a small pack. */
  inputs?: unknown[];
};

/** Failures with the same error but for the numbers in it. */
export type FailureGroup = {
  code: string;
  /** The error with `N` for each number and `ID` for each random id, but in a place in code and in the one file that all name; a long one is cut. */
  message: string;
  /** The first of these errors as it was. */
  sample: string;
  /** Ascending. */
  packs: number[];
  /** The chunks that failed where that is known, and else those of these packs; neighbors joined. */
  chunks: ({
    from: number;
    to: number;
  })[];
  /** Failed work that is no pack: `plan`, `node/1/00003` or `finish`. */
  tasks: string[];
  attempts: number;
};

export type Logs = {
  run: string;
  uid: string;
  /** In the order of their times. */
  lines: LogLine[];
  /** Lines that were not kept, or are not among these. */
  more: number;
  /** Given as `since` it has the next answer begin here: with the attempts of this second, and what ended later. */
  until: string;
};

/** A line that user code printed. */
export type LogLine = {
  /** By the clock of the instance. */
  at: string;
  level: "debug" | "info" | "warn" | "error";
  chunk?: number;
  text: string;
  /** `00003/00000042` for a pack, `node/1/00003`, `plan` or `finish`. */
  work: string;
  generation: number;
  /** `{send}-{delivery}-{random}`. */
  attempt: string;
  instance: string;
};

/** The packs of a run, counted in at most 2,000 cells of neighboring packs. Cell `i` counts the packs from `i * packsPerCell` on; the rest of a cell was not sent. */
export type PackMap = {
  run: string;
  uid: string;
  generation: number;
  packs: number;
  shardSize: number;
  packsPerCell: number;
  cells: {
    done: number[];
    failed: number[];
    givenUp: number[];
    inFlight: number[];
    resent: number[];
  };
};

export type Durations = {
  run: string;
  uid: string;
  generation: number;
  packs: number;
  /** Packs whose duration is known here. */
  counted: number;
  /** Not every finished pack is counted: of a large run a sample, of a complete one the last that ended. */
  cut: boolean;
  p50Ms?: number;
  p75Ms?: number;
  p95Ms?: number;
  maxMs?: number;
  histogram: ({
    fromMs: number;
    toMs: number;
    packs: number;
  })[];
  /** Longest first. Empty where only the last durations are known, which name no packs. */
  slowest: ({
    pack: number;
    chunks: {
      from: number;
      to: number;
    };
    ms: number;
    attempt?: number;
  })[];
};

/** Progress of a run over time, and who led it. Times are those of the storage service. */
export type Timeline = {
  run: string;
  uid: string;
  generation: number;
  packs: number;
  submittedAt: string;
  nowAt: string;
  /** How many packs of this generation had ended; those that the run gave up are no progress. */
  marks: ({
    at: string;
    ended: number;
  })[];
  /** The terms that led this run, oldest first. */
  terms: ({
    term: number;
    holder: string;
    /** When it took over the run. */
    from: string;
    /** When it last wrote its record, or the run ended. Absent while it leads, and if not known. */
    to?: string;
    cameBy?: "free" | "handed-over" | "expired" | "broken";
  })[];
  submittedBy?: string;
  /** What people asked of it, as leaders took it up, oldest first: the newest 32. */
  commands: ({
    action: "pause" | "resume" | "cancel" | "finish-early" | "cap" | "retry";
    at: string;
    by?: string;
  })[];
  /** When the newest retry began. */
  retriedAt?: string;
  finishedAt?: string;
  pausedSince?: string;
  /** The run was paused: marks before the pause are moved up to its end. */
  moved?: true;
};

export type Calculation = {
  name: string;
  summary: string;
  params: ({
    name: string;
    type: string;
    default?: unknown;
    description: string;
    values?: unknown[];
  })[];
  /** JSON Schema of the parameters as they are given: defaults need not be. */
  schema: Record<string, unknown>;
  /** Identity of its code in the process that answers. */
  code: string;
  /** Its file has changed since that process loaded it. */
  changed?: true;
};

/** Size, duration and cost estimate of a run. */
export type Estimate = {
  calculation: string;
  params: unknown;
  chunks: number;
  packs: number;
  packSize: number;
  shards: number;
  /** Chunks of the prefixes after which the calculation may end the run; all other figures are of all chunks. */
  prefixes?: number[];
  /** Error of the first timed chunk that failed: a run with these parameters would fail too. */
  failed?: string;
  /** Packs computed at once, which the expected time depends on. */
  workers: number;
  /** `--workers`, a setting, or whose threads these are, for people. */
  workersFrom: string;
  /** What the calculation reads of its own files; included in the calls and dollars. */
  files: {
    planning: FileUse;
    computing: FileUse;
  };
  calls: {
    total: Calls;
    /** Calls that cost anything: all but deletes. */
    billed: number;
    /** Of a pack and its message; exact if nothing fails or is resent. */
    perPack: Calls;
    /** Of leading at the default settings, an estimate. */
    perMinute: Calls;
    perChunk: number;
  };
  /** Storage and compute at list prices: an estimate. */
  dollars: number;
  /** Storage calls. */
  storageDollars: number;
  /** Instances of Flex Consumption while they led or computed. */
  computeDollars: number;
  /** GB-seconds of these instances. */
  gbS: number;
  /** Deliveries of the run's messages. */
  executions: number;
  /** What the run may cost, by the request or else the app. */
  maxCost?: number;
  /** Memory of an instance, by which its cost is estimated. */
  memoryMb: number;
  /** On one thread, as measured here; a sample that was stopped at its limit may take any longer. */
  chunkMs: number;
  packMs: number;
  /** Share of its time in which a chunk waited for others, and did not compute; absent where chunks run at the same time. */
  waits?: number;
  computeS: number;
  /** From submit to result, with so many `workers`. */
  expectedS: number;
  unmeasured?: never;
} | {
  calculation: string;
  params: unknown;
  chunks: number;
  packs: number;
  packSize: number;
  shards: number;
  /** Chunks of the prefixes after which the calculation may end the run; all other figures are of all chunks. */
  prefixes?: number[];
  /** Error of the first timed chunk that failed: a run with these parameters would fail too. */
  failed?: string;
  /** Packs computed at once, which the expected time depends on. */
  workers: number;
  /** `--workers`, a setting, or whose threads these are, for people. */
  workersFrom: string;
  /** What the calculation reads of its own files; included in the calls and dollars. */
  files: {
    planning: FileUse;
    computing: FileUse;
  };
  calls: {
    total: Calls;
    /** Calls that cost anything: all but deletes. */
    billed: number;
    /** Of a pack and its message; exact if nothing fails or is resent. */
    perPack: Calls;
    /** Of leading at the default settings, an estimate. */
    perMinute: Calls;
    perChunk: number;
  };
  /** Storage and compute at list prices: an estimate. */
  dollars: number;
  /** Storage calls. */
  storageDollars: number;
  /** Instances of Flex Consumption while they led or computed. */
  computeDollars: number;
  /** GB-seconds of these instances. */
  gbS: number;
  /** Deliveries of the run's messages. */
  executions: number;
  /** What the run may cost, by the request or else the app. */
  maxCost?: number;
  /** Memory of an instance, by which its cost is estimated. */
  memoryMb: number;
  /** Why no time is known: then calls and dollars are not those of the run. */
  unmeasured: string;
};

/** Calls of a calculation on its files, by billing class, and the bytes that it asked for. */
export type FileUse = {
  list: number;
  read: number;
  bytes: number;
};

export type Submitted = {
  run: string;
  uid: string;
  /** False if a run of this id and with the same request existed. */
  created: boolean;
  /** Of a run that existed. One that failed or was cancelled is not begun again: that is a retry. */
  phase?: "waiting" | "planning" | "computing" | "finishing" | "complete" | "failed" | "cancelled";
  /** False if the wake queue could not be reached: the run then starts with the next timer tick. */
  woken: boolean;
  /** Packs in flight at most, which may differ from the request if the run existed; absent once the run has ended. */
  cap?: number;
  /** Dollars at most, likewise; absent where the request and the run name none. */
  maxCost?: number;
  /** Time limit of one attempt: of the request, or of the app if that is less. Absent if either is not known. */
  packLimitMs?: number;
  /** Of a run that existed those of its first submit. */
  tags?: Record<string, string>;
};

/** Files that were uploaded, at one path: a file, or a folder with all that is in it. */
export type Inputs = {
  /** `container/path`, as calculations take it. */
  source: string;
  files: number;
  bytes: number;
  /** Of the newest file. */
  modifiedAt: string;
  /** Of a single file, as whoever wrote it stated it. Nobody has compared it with the bytes. */
  sha256?: string;
};

export type Leader = {
  kind: "never";
} | {
  kind: "unreadable";
  reason: string;
} | {
  kind: "leading" | "nobody";
  /** Of the leader, or of the last one. */
  term: number;
  holder: string;
  since: string;
  lease: "available" | "leased" | "expired" | "breaking" | "broken";
  /** Seconds since the leader last wrote its record, by storage's clock. */
  heartbeatAgeS: number;
  /** How the holder came to lead. */
  cameBy: "free" | "handed-over" | "expired" | "broken";
  /** What the leader says it is doing. */
  notes: Record<string, string>;
  /** The last sixteen terms or fewer, oldest first. */
  terms: ({
    term: number;
    holder: string;
    since: string;
    cameBy: "free" | "handed-over" | "expired" | "broken";
    until?: string;
  })[];
  region?: string;
  /** Least remaining time of the lease, as of the last heartbeat. Only if the leader says so. */
  leaseLeftS?: number;
};

/** What processes tell of their work by their heartbeats, and how many compute each run. Short work leaves no heartbeat, and neither does an idle process, so not every instance is here. */
export type Workers = {
  workers: Worker[];
  runs: ({
    run: string;
    uid: string;
    instances: number;
    threads: number;
  })[];
  /** Heartbeats that do not decode. */
  unreadable: ({
    blob: string;
    reason: string;
  })[];
};

export type Worker = {
  instance: string;
  /** Tells processes of one instance apart. */
  boot: string;
  state: "live" | "silent" | "ended";
  version: string;
  threads: number;
  memoryMb: number;
  codes: string[];
  /** By storage's time. */
  heartbeatAgeS: number;
  /** By which signal or exit code, or why; told by a supervisor that saw it. */
  ended?: string;
  computes: WorkAtHand[];
  /** Taken, and waiting for a thread. */
  holds: WorkAtHand[];
};

export type WorkAtHand = {
  run: string;
  uid: string;
  /** `pack 17`, `plan`, `combine shard 3`, `combine node 5 of level 2` or `finish`. */
  work: string;
  generation: number;
  send: number;
  isolated: boolean;
  /** Since a thread took it, or since it was delivered; of a process that is not live, until its last heartbeat. */
  forS: number;
  pack?: number;
  chunks?: {
    from: number;
    to: number;
  };
  /** The one that is computed. */
  chunk?: number;
};

export type Queues = {
  queues: Queue[];
};

export type Queue = {
  /** Its real name. */
  queue: string;
  /** `missing`: no instance or submit has created it yet. `denied`: there is no right to read it. */
  state: "there" | "missing" | "denied";
  /** Including hidden messages. */
  approximateCount?: number;
  /** Age of the first visible message, which is nearly always the oldest; absent if all are hidden. */
  oldestS?: number;
};

export type QueueMessages = {
  queue: string;
  messages: QueueMessage[];
};

export type QueueMessage = {
  id: string;
  insertedAt: string;
  dequeueCount: number;
  /** `compute`, `wake` and so on; absent if this version does not understand the message. */
  kind?: string;
  /** The message as a worker reads it; absent with `cut`, and for wakes. */
  decoded?: {
    kind: string;
    run: string;
    uid: string;
  };
  text: string;
  /** The text is cut. */
  cut?: true;
};

/** The answers in JSON, by operation. */
export type Answers = {
  postRuns: {
    run: string;
    uid: string;
    /** False if a run of this id and with the same request existed. */
    created: boolean;
    /** Of a run that existed. One that failed or was cancelled is not begun again: that is a retry. */
    phase?: "waiting" | "planning" | "computing" | "finishing" | "complete" | "failed" | "cancelled";
    /** False if the wake queue could not be reached: the run then starts with the next timer tick. */
    woken: boolean;
    /** Packs in flight at most, which may differ from the request if the run existed; absent once the run has ended. */
    cap?: number;
    /** Dollars at most, likewise; absent where the request and the run name none. */
    maxCost?: number;
    /** Time limit of one attempt: of the request, or of the app if that is less. Absent if either is not known. */
    packLimitMs?: number;
    /** Of a run that existed those of its first submit. */
    tags?: Record<string, string>;
    /** Of a run that ended without a result: the request that retries it. */
    retry?: string;
  };
  getRuns: Runs;
  getOverview: Overview;
  /** What runs have cost until now, as estimated for each. */
  getCosts: Costs;
  getRunsId: Run;
  patchRunsId: Commanded;
  deleteRunsId: Commanded;
  postRunsIdRetry: Commanded;
  getRunsIdResultLink: ResultLink;
  getRunsIdManifest: Manifest;
  postRunsIdVerify: Verification;
  getRunsIdFailures: Failures;
  getRunsIdLogs: Logs;
  getRunsIdMap: PackMap;
  getRunsIdDurations: Durations;
  getRunsIdTimeline: Timeline;
  getCalculations: {
    calculations: Calculation[];
  };
  postPlan: Estimate;
  getSchedules: {
    schedules: ({
      name: string;
      cron: string;
      timeZone: string;
      overlap: "skip" | "allow";
      /** As for a submit; templates are not filled. */
      run: {
        calculation: string;
        params: unknown;
        tags?: Record<string, string>;
      };
      paused?: true;
      /** Absent where it is paused. */
      next?: string;
      /** The latest due time with a run. */
      last?: {
        due: string;
        run: string;
        /** Absent of a deleted run. */
        phase?: string;
      };
      /** The latest due time without a run; the log says why. */
      skipped?: string;
    })[];
    /** Blobs among the schedules that do not decode; what is no letter or digit of a name is escaped. */
    unreadable: ({
      blob: string;
      reason: string;
    })[];
  };
  postSchedules: {
    name: string;
    /** False if it was there already. */
    created: boolean;
    /** The first run from now on. */
    first: {
      due: string;
      run: string;
      params: unknown;
    };
  };
  patchSchedulesName: {
    name: string;
    paused: boolean;
    changed: boolean;
  };
  deleteSchedulesName: {
    name: string;
  };
  postSchedulesNameTrigger: Submitted;
  getUploads: {
    uploads: Inputs[];
  };
  postUploadsPrefixPath: {
    /** `container/path`, as calculations take it. */
    source: string;
    bytes: number;
    sha256: string;
  };
  getLeader: Leader;
  getWorkers: Workers;
  getQueues: Queues;
  getQueuesName: QueueMessages;
  getInstance: {
    version: string;
    commit?: string;
    instance: string;
    readOnly: boolean;
    /** By its own clock; absent before its first tick. */
    lastTickAgeS?: number;
  };
  getHealth: {
    ok: true;
  };
  getOpenapijson: Record<string, unknown>;
};

/** What is sent in JSON, by operation. */
export type Bodies = {
  readonly postRuns: RunRequest;
  readonly patchRunsId: {
    /** Packs in flight at most. */
    readonly cap?: number | undefined;
    /** Dollars at most, alone or with `cap`. */
    readonly maxCost?: number | undefined;
    readonly want?: "run" | "paused" | "cancelled" | undefined;
    /** With `cancelled`: finish with the packs that are done. */
    readonly keep?: boolean | undefined;
  };
  readonly postRunsIdRetry: {
    /** The generation that the retry begins, 2 for the first one. With it a repeated request begins it once. */
    readonly generation?: number | undefined;
  };
  readonly postPlan: PlanRequest;
  readonly postSchedules: {
    readonly name: string;
    readonly cron: string;
    readonly timeZone?: string | undefined;
    readonly overlap?: "skip" | "allow" | undefined;
    readonly run: {
      readonly calculation: string;
      readonly params?: Readonly<Record<string, unknown>> | undefined;
      /** Chunks per pack; chosen by the planning worker by default. */
      readonly packSize?: number | undefined;
      /** Packs computed at once, as you expect: packs of automatic size are small enough for so many. By default the threads that are seen at work. */
      readonly workers?: number | undefined;
      /** Packs in flight at most. */
      readonly cap?: number | undefined;
      /** Its part of the workers beside other runs: four times that of a normal run, or a quarter. No part of the request. */
      readonly priority?: "high" | "normal" | "low" | undefined;
      /** Dollars at most, by the estimate, retries included; beyond them it sends nothing more and waits. By default that of the app. */
      readonly maxCost?: number | undefined;
      /** Chunks that may be missing; none by default. */
      readonly tolerate?: {
        readonly chunks: number;
      } | {
        readonly percent: number;
      } | undefined;
      /** Time limit of one attempt, unless the limit of the app is lower. */
      readonly packLimitMs?: number | undefined;
      /** Attempts at work that throws. */
      readonly attempts?: number | undefined;
      /** Seconds before its second, third … attempt, of which the last holds for all further ones. No part of the request. */
      readonly retryAfterS?: readonly number[] | undefined;
      /** So many `ms` after a leader first sees the run or its retry it fails, or with `keep` finishes with what is done. */
      readonly deadline?: {
        readonly ms: number;
        readonly keep?: boolean | undefined;
      } | undefined;
      /** Each run reuses partials of the run before it. */
      readonly reuse?: true | undefined;
      /** Words of the caller about the run. The same request with other tags is the same run, and keeps its first ones. */
      readonly tags?: Readonly<Record<string, string>> | undefined;
    };
  };
  readonly patchSchedulesName: {
    readonly paused: boolean;
  };
  readonly postSchedulesNameTrigger: {
    /** A time with an offset. */
    readonly at?: string | undefined;
  };
};
