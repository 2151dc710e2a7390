import { LeasefoldError } from "../model/errors.ts";
import type { Log } from "../model/log.ts";
import type { WorkMessage } from "../model/message.ts";
import type { Names } from "../model/names.ts";
import type { AcceptedOutput } from "../model/output.ts";
import type { TreeLimits } from "../model/packs.ts";
import type { Plan, Spec } from "../model/run.ts";
import type { Clock, Random, Storage } from "../storage/ports.ts";
import type { ChunkNow, WorkerHeartbeats } from "./heartbeats.ts";
import type { KeepPrinted } from "./keepPrinted.ts";
import type { TaskOptions, UserCode } from "./threads/userCode.ts";

/** What the worker acts on; one per process. */
export interface WorkerPorts extends ProcessState {
  readonly storage: Storage;
  readonly names: Names;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly userCode: UserCode;
  /** Time limit of one attempt, unless the run asked for less. */
  readonly packLimitMs: number;
  /** Time for which a worker repeats the call that records how its attempt ended. */
  readonly endRetryMs: number;
  /** The calculations that this process computes; all that it knows without it. Work of others is enqueued again. */
  readonly only?: ReadonlySet<string> | undefined;
  /** The identity of a calculation's code in this process. Throws `InputError` where it has none. */
  readonly versionOf: (calculation: string) => string;
  /** Throws `InputError` for parameters that the calculation's schema in this process refuses. */
  readonly checkParams?: (calculation: string, params: unknown) => void;
  /** `limits.foldBytesMax`, except in tests of folds in many batches. */
  readonly foldBytesMax: number;
  /** `limits`, except in tests of deep trees. */
  readonly tree: TreeLimits;
}

/** What a process keeps between messages; `processState` makes it. */
export interface ProcessState {
  readonly documents: Documents;
  readonly watch: MarkerWatch;
  /** For plans, from which costs are estimated. */
  readonly instance: { readonly mb: number; readonly threads: number };
  /**
   * Tells the leader that instances with this code enqueue work of a run again; gives whether a note was due. `needed` is
   * the identity of the work, `theirs` that of this process.
   */
  readonly noteOtherCode: (
    message: WorkMessage,
    code: { readonly needed: string; readonly theirs: string | undefined },
  ) => Promise<boolean>;
  /** Does one thing after the other: whole attempts at work that ended processes before, the write of their output included. */
  readonly inTurn: <T>(work: () => Promise<T>) => Promise<T>;
  readonly heartbeats: WorkerHeartbeats;
  /** How many deliveries are being handled now, those that wait for a thread included. */
  readonly deliveries: { now: number };
  readonly keepPrinted: KeepPrinted;
}

type RunAt = Pick<WorkMessage, "run" | "uid" | "spec" | "plan">;

/** A document, and the SHA-256 of the bytes that it was read from. */
type Hashed<T> = T & { readonly sha256: string };

/**
 * Specs, plans and plan segments: written once, so what was read once is kept. Each throws `CorruptDataError` for another
 * document than the message or the plan names.
 */
export interface Documents {
  /** Throws `DroppedError` where there is no such run. */
  spec(at: RunAt): Promise<Hashed<Spec>>;
  plan(at: RunAt): Promise<Hashed<Plan>>;
  /** By code and key the names of the partials of the run that it reuses, as `listKeys`. */
  keysOf(spec: Spec): Promise<ReadonlyMap<string, string>>;
  /** Inputs of the chunks `[from, to)`, or undefined where the plan is a plain count. */
  inputs(plan: Plan, from: number, to: number): Promise<readonly unknown[] | undefined>;
}

/**
 * When a worker asks whether its work is still wanted: before it begins, while it computes, before it writes its output,
 * and after it ended without one.
 */
export type WorkStage = "begin" | "during" | "write" | "end";

/**
 * Tells whether a message's work is still wanted, by a read of the run's marker that is at most five seconds old. It
 * reads again for a message with a higher turn than that read knows, and at the end of a send, whose record must not
 * outlive its run.
 */
export interface MarkerWatch {
  /** Why the work is not wanted, or undefined when it is. Throws when storage cannot be read. */
  unwanted(message: WorkMessage, stage: WorkStage): Promise<string | undefined>;
  /** SHA-256 of the run's spec by the latest reading of its marker, for work that has one. */
  specHash(message: WorkMessage): Promise<string | undefined>;
  /**
   * Does the work under a signal that fires with a `DroppedError` once it is not wanted any more. While long work runs,
   * markers are read every `wantedEveryMs`, in one call for all work of this process.
   */
  during<T>(message: WorkMessage, work: (signal: AbortSignal) => Promise<T>): Promise<T>;
}

/** One delivery of one message by the host. */
export interface Delivery {
  readonly queue: string;
  readonly urgent: boolean;
  readonly text: string;
  /** Deliveries of this message so far, this one included: the host's dequeue count. */
  readonly attempt: number;
  /** Of a first delivery: how long the message waited, by the clocks of storage and of this process. */
  readonly waitedMs?: number | undefined;
}

/** One attempt at a piece of work. */
export interface Attempt<Message extends WorkMessage = WorkMessage> {
  readonly message: Message;
  readonly delivery: Delivery;
  /** `{send}-{delivery}-{8 random characters}`: names what this attempt alone writes. */
  readonly tag: string;
  /** Time that user code has in this attempt, from when a thread takes it. */
  readonly limitMs: number;
  /** Whose outputs may be folded. */
  readonly accepted: AcceptedOutput;
  /** Processes died with this work, so nothing else runs beside it. */
  readonly isolated: boolean;
  /** Fires when the work is not wanted any more; its reason is a `DroppedError`. */
  readonly signal: AbortSignal;
  /** To be called when a thread takes the work. */
  readonly begin: (chunkNow?: ChunkNow) => Promise<void>;
  readonly onPrint?: TaskOptions["onPrint"];
}

/** The work is not wanted any more: the message is completed and nothing is recorded. */
export class DroppedError extends LeasefoldError {
  constructor(why: string) {
    super("dropped", why);
  }
}

/** The message asks for what the run does not have: recorded as dropped, never tried again. */
export class MalformedWorkError extends LeasefoldError {}

/** A member of a fold is definitely gone from storage. */
export class StorageLostError extends LeasefoldError {}
