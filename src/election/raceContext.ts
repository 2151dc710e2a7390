import { ConfigError, CorruptDataError, OtherVersionError, StorageError } from "../engine/model/errors.ts";
import type { Clock, LeaseStore, Random } from "../engine/storage/ports.ts";
import { cappedCall, type Reply } from "./cappedCall.ts";
import type { ElectionEventDetail, OnElectionEvent } from "./events.ts";
import { classifyFailure, storageCodeOf } from "./leaseFailure.ts";
import { decideBudget } from "./policy.ts";
import type { CurrentLeader } from "./record/leaderView.ts";
import type { EndCause, LeaderRecord } from "./record/record.ts";
import type { ElectionSettings } from "./settings.ts";

/** What one race needs from outside. */
export interface RacePorts {
  readonly lease: LeaseStore;
  readonly clock: Clock;
  readonly random: Random;
  readonly on?: OnElectionEvent;
  /** Gets the record of each poll of a contender. Nothing is decided by it. */
  readonly onPoll?: ((record: LeaderRecord) => void) | undefined;
}

export interface RaceRequest {
  /** Of this instance, 1–128 characters. Shown, never used to decide who owns anything. */
  readonly holder: string;
  readonly region?: string | undefined;
  /** Shown to whoever reads the record, about 2 KB at most; never used to decide anything. */
  readonly about?: Readonly<Record<string, string>> | undefined;
  /** When this invocation began, on the monotonic clock: its budget counts from there. */
  readonly startedAtMonotonicMs: number;
  /** A wake that finds the lease held waits until it has seen a heartbeat of the leader; a tick polls once. Default `tick`. */
  readonly startedBy?: "tick" | "wake";
  /** Claim a term above this one too, where state elsewhere has seen it. Default 0. */
  readonly aboveTerm?: number;
  /** Asked before a free lease is acquired, or a silent leader's is broken. No: nothing is written at all. */
  worthLeading(seen: {
    /** The last leader's record; `undefined` where nobody has led yet. */
    readonly last: LeaderRecord | undefined;
    /** Storage's times of the poll and of the last write of the record. */
    readonly poll: { readonly atMs: number; readonly writtenMs: number };
    readonly signal: AbortSignal;
  }): Promise<boolean>;
  /** The process is to stop (SIGTERM, the host's shutdown hooks): drain and release. */
  readonly stopping?: AbortSignal | undefined;
  /** Asked at each pause between two polls: its signal ends the pause, such as for a wake. It fires at `stopping` too. */
  readonly pollNow?: () => AbortSignal;
}

type RefusalCode =
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
      /** Why the task has not recorded all that it did: mostly what it threw, or storage's last error. */
      readonly error?: unknown;
    }
  /** Another leads, or acquired the lease first. */
  | { readonly kind: "follower"; readonly leader: CurrentLeader }
  | { readonly kind: "nothingToLead"; readonly lastTerm: number }
  | {
      readonly kind: "refused";
      readonly code: RefusalCode;
      readonly reason: string;
      readonly error?: unknown;
    }
  /** Storage did not answer in time, or `worthLeading` failed. Nothing was claimed; the next tick tries again. */
  | {
      readonly kind: "unreachable";
      readonly step: "poll" | "acquire" | "record" | "worth-leading";
      readonly error: unknown;
    };

export type Led = RaceOutcome & { readonly kind: "led" };
export type NotLed = Exclude<RaceOutcome, Led>;
export type Refused = RaceOutcome & { readonly kind: "refused" };

/** What it takes to poll and acquire a lease, with or without a term: a race has it, and so has a named lease. */
export interface LeaseCalls {
  readonly ports: Pick<RacePorts, "lease" | "clock" | "random">;
  readonly settings: ElectionSettings;
  readonly request: Pick<RaceRequest, "stopping">;
  /** One lease call, cut off after `requestCapMs` or by the signal. */
  call<T>(make: (signal: AbortSignal) => Promise<T>, giveUp?: AbortSignal): Promise<Reply<T>>;
}

/** One race: the caller's three arguments, and what is fixed for its whole length. */
export interface RaceContext extends LeaseCalls {
  readonly ports: RacePorts;
  readonly request: RaceRequest;
  /** Never throws, whatever the listener does. */
  emit(term: number, detail: ElectionEventDetail): void;
  /** As `emit`, for `onPoll`. */
  polled(record: LeaderRecord): void;
  /** Different with every call; marks the writes of this race. */
  nextHeartbeat(): string;
}

export function raceContext(ports: RacePorts, settings: ElectionSettings, request: RaceRequest): RaceContext {
  const mark = ports.random.uuid().slice(0, 8);
  let writes = 0;
  return {
    ports,
    settings,
    request,
    call: (make, giveUp) => cappedCall(ports.clock, settings.requestCapMs, make, giveUp),
    emit: (term, detail) => quietly(() => ports.on?.({ holder: request.holder, term, ...detail })),
    polled: (record) => quietly(() => ports.onPoll?.(record)),
    nextHeartbeat: () => `${mark}-${++writes}`,
  };
}

/** A listener that fails must not cost the lease. */
export function quietly(notify: () => void): void {
  try {
    notify();
  } catch {
    // A listener handles its own failures.
  }
}

export const stoppingRefusal: Refused = {
  kind: "refused",
  code: "stopping",
  reason: "This process is about to stop.",
};

/** Why this invocation must not try to acquire the lease at this moment; `undefined` where it may. */
export function refusalNow({ ports, settings, request }: RaceContext): Refused | undefined {
  if (request.stopping?.aborted) return stoppingRefusal;
  const code = decideBudget(ports.clock.monotonicMs(), request.startedAtMonotonicMs, settings);
  return code === undefined ? undefined : { kind: "refused", code, reason: reasons[code] };
}

const reasons = {
  "clock-backwards": "The invocation began in the future by its own monotonic clock.",
  "too-little-budget": "Too little of the invocation's time remains to lead.",
};

/** What a failed call means for the race; `undefined` where a retry may help. */
export function refusalOf(
  { request }: Pick<LeaseCalls, "request">,
  error: unknown,
  step: "poll" | "acquire" | "record",
): Refused | undefined {
  const code = storageCodeOf(error);
  switch (classifyFailure(error)) {
    case "denied":
      return { kind: "refused", code: "denied", reason: `Storage denied the ${step}: ${code}.`, error };
    case "bug":
      return { kind: "refused", code: "bad-request", reason: `Storage refused the ${step}: ${code}.`, error };
    default:
      return request.stopping?.aborted ? stoppingRefusal : undefined;
  }
}

/** The error for a caller who waits for leadership; `undefined` where waiting on may help. */
export function errorOfOutcome(outcome: RaceOutcome): unknown {
  if (outcome.kind === "unreachable") {
    const { step, error } = outcome;
    if (error instanceof StorageError) return error;
    return new StorageError("busy", "", undefined, `storage did not answer (${step})`, error);
  }
  if (outcome.kind !== "refused") return undefined;
  const { code, reason, error } = outcome;
  switch (code) {
    case "record-newer":
      return new OtherVersionError(code, reason);
    case "record-unreadable":
      return new CorruptDataError(code, reason);
    case "denied":
      return error;
    case "bad-request":
      return new ConfigError("election-request", reason, { cause: error });
    default:
      return new ConfigError(code, reason);
  }
}
