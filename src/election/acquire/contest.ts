import { ConfigError, CorruptDataError, NewerVersionError, StorageError } from "../../model/errors.ts";
import type { Clock, LeaseStore, Random } from "../../storage/ports.ts";
import type { EndCause, OnElectionEvent } from "../events.ts";
import type { Leadership } from "../hold/leadership.ts";
import { isDenied, judge, storageCodeOf } from "../judge.ts";
import { decideBudget } from "../policy.ts";
import type { CurrentLeader } from "../record/leaderView.ts";
import type { LeaderRecord } from "../record/record.ts";
import type { ElectionSettings } from "../settings.ts";

/** What one race needs from outside. */
export interface RacePorts {
  readonly lease: LeaseStore;
  readonly clock: Clock;
  readonly random: Random;
  readonly on?: OnElectionEvent;
  /** Sees the record at each look of a contender. Nothing is decided by it. */
  readonly onLook?: ((record: LeaderRecord) => void) | undefined;
}

export interface RaceRequest {
  /** Of this instance, 1–128 characters. Shown, never used to decide who owns anything. */
  readonly holder: string;
  readonly region?: string | undefined;
  /** Told to whoever reads the record, some 2 KB at most; never used to decide anything. */
  readonly about?: Readonly<Record<string, string>> | undefined;
  /** When this invocation began, on the monotonic clock: its budget counts from there. */
  readonly startedAtMonotonicMs: number;
  /** A wake that finds the lease held waits until it has seen the leader beat; a tick looks once. Default `tick`. */
  readonly startedBy?: "tick" | "wake";
  /** Claim a term above this one too, where state elsewhere has seen it. Default 0. */
  readonly aboveTerm?: number;
  /** Asked once under the lease. No: the lease is given back and no term is used up. */
  worthLeading(look: {
    /** The last leader's record; `undefined` where nobody has led yet. */
    readonly last: LeaderRecord | undefined;
    /** Storage's times of the poll and of the last write of the record before it. */
    readonly poll: { readonly atMs: number; readonly writtenMs: number };
    readonly signal: AbortSignal;
  }): Promise<boolean>;
  /** The task. It ends by itself, or soon after `leadership.signal` fired. */
  lead(leadership: Leadership): Promise<void>;
  /** The process is to stop (SIGTERM, the host's shutdown hooks): drain and release. */
  readonly stopping?: AbortSignal | undefined;
}

export type RefusalCode =
  | "stopping"
  | "too-little-budget"
  | "clock-backwards"
  | "record-newer"
  | "record-unreadable"
  | "denied"
  | "bad-request";

export type RaceOutcome =
  | {
      readonly kind: "led";
      readonly term: number;
      readonly termid: string;
      readonly cause: EndCause;
      /** The task had ended when this was returned. */
      readonly drained: boolean;
      /** The release was confirmed: a successor can lead right now. */
      readonly handedOver: boolean;
      /** What the task threw, or what storage said last. */
      readonly error?: unknown;
    }
  /** Another leads, or had the lease first. */
  | { readonly kind: "follower"; readonly leader: CurrentLeader }
  | { readonly kind: "nothingToLead"; readonly lastTerm: number }
  | {
      readonly kind: "refused";
      readonly code: RefusalCode;
      readonly reason: string;
      readonly error?: unknown;
    }
  /** Storage did not answer in time, or the caller's look failed. Nothing was claimed; the next tick tries again. */
  | {
      readonly kind: "unreachable";
      readonly step: "look" | "acquire" | "record" | "worth-leading";
      readonly error: unknown;
    };

/** One race: the caller's three arguments, and what is fixed for its whole length. */
export interface Contest {
  readonly ports: RacePorts;
  readonly settings: ElectionSettings;
  readonly request: RaceRequest;
  /** Never throws, whatever the listener does. */
  readonly emit: OnElectionEvent;
  /** As `emit`, for `onLook`. */
  saw(record: LeaderRecord): void;
  /** Other with every call; marks the writes of this race. */
  nextBeat(): string;
}

export type Refused = RaceOutcome & { readonly kind: "refused" };

/** Why this invocation must not go for the lease at this moment; `undefined` where it may. */
export function whyNotNow({ ports, settings, request }: Contest): Refused | undefined {
  if (request.stopping?.aborted) return stoppingNow;
  const code = decideBudget(ports.clock.monotonicMs(), request.startedAtMonotonicMs, settings);
  return code === undefined ? undefined : { kind: "refused", code, reason: reasons[code] };
}

/** What a failed call means for the race; `undefined` where trying again may help. */
export function whyGiveUp(
  contest: Contest,
  error: unknown,
  step: "look" | "acquire" | "record",
): Refused | undefined {
  const code = storageCodeOf(error);
  if (isDenied(error)) {
    return { kind: "refused", code: "denied", reason: `Storage denied the ${step}: ${code}.`, error };
  }
  if (judge(error) === "bug") {
    return { kind: "refused", code: "bad-request", reason: `Storage refused the ${step}: ${code}.`, error };
  }
  return contest.request.stopping?.aborted ? stoppingNow : undefined;
}

export const stoppingNow: Refused = {
  kind: "refused",
  code: "stopping",
  reason: "This process is about to stop.",
};

const reasons = {
  "clock-backwards": "The invocation began in the future by its own monotonic clock.",
  "too-little-budget": "Too little of the invocation's time is left to lead.",
};

/** What a caller who waits for leadership has to be told as an error; `undefined` where waiting on may help. */
export function errorOfOutcome(outcome: RaceOutcome): unknown {
  if (outcome.kind === "unreachable") {
    if (outcome.error instanceof StorageError) return outcome.error;
    const why = `storage did not answer (${outcome.step})`;
    return new StorageError("busy", "", undefined, why, outcome.error);
  }
  if (outcome.kind !== "refused") return undefined;
  switch (outcome.code) {
    case "record-newer":
      return new NewerVersionError(outcome.code, outcome.reason);
    case "record-unreadable":
      return new CorruptDataError(outcome.code, outcome.reason);
    case "denied":
      return outcome.error;
    case "bad-request":
      return new ConfigError("election-request", outcome.reason, { cause: outcome.error });
    default:
      return new ConfigError(outcome.code, outcome.reason);
  }
}
