import { LeasefoldError } from "../model/errors.ts";
import type { WantedCode } from "../model/identity.ts";
import type { Log } from "../model/log.ts";
import type { MessageOf, WorkMessage } from "../model/message.ts";
import type { Names } from "../model/names.ts";
import type { TreeLimits } from "../model/packs.ts";
import type { Clock, Random, Storage } from "../storage/ports.ts";
import type { CallReport } from "./callReport.ts";
import type { Documents } from "./documents.ts";
import type { MarkerWatch } from "./markerWatch.ts";
import type { UserCode } from "./threads/userCode.ts";

/** What the worker room acts on; one per process. */
export interface WorkerPorts {
  readonly storage: Storage;
  readonly names: Names;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly userCode: UserCode;
  readonly documents: Documents;
  readonly watch: MarkerWatch;
  readonly report: CallReport;
  /** Time limit of one attempt, unless the run asked for less. */
  readonly packLimitMs: number;
  /** For so long a worker repeats the call that says how its attempt ended. */
  readonly endRetryMs: number;
  /** The identity of a calculation's code in this process. Throws `InputError` where it has none. */
  readonly versionOf: (calculation: string) => string;
  /** Throws `InputError` for parameters that the calculation's schema in this process refuses. */
  readonly checkParams?: (calculation: string, params: unknown) => void;
  /** `limits.foldBytesMax`, but for tests of folds in many batches. */
  readonly foldBytesMax: number;
  /** `limits`, but for tests of deep trees. */
  readonly tree: TreeLimits;
}

/** One delivery of one message by the host. */
export interface Delivery {
  readonly queue: string;
  readonly urgent: boolean;
  readonly text: string;
  /** Deliveries of this message so far, this one included: the host's dequeue count. */
  readonly attempt: number;
}

/** A task of one kind at work. */
export interface Job<Kind extends WorkMessage["kind"]> extends Attempt {
  readonly message: MessageOf<Kind>;
}

/** One attempt at a piece of work. */
export interface Attempt {
  readonly message: WorkMessage;
  readonly delivery: Delivery;
  /** `{send}-{delivery}-{8 random characters}`: names what this attempt alone writes. */
  readonly tag: string;
  /** Time that user code has in this attempt, from when a thread takes it. */
  readonly limitMs: number;
  /** Whose outputs may be folded. */
  readonly wanted: WantedCode;
  /** Processes died with this work, so nothing else runs beside it. */
  readonly alone: boolean;
  /** Fires when the work is not wanted any more; its reason is a `DroppedError`. */
  readonly signal: AbortSignal;
  /** To be called when a thread takes the work. */
  readonly begin: () => Promise<void>;
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
