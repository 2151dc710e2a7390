import { ConfigError } from "../../engine/model/errors.ts";
import { electionBlob, leaderBlob, termStateBlob } from "../../engine/model/names.ts";
import type { OnElectionEvent } from "../events.ts";
import type { Leadership } from "../hold/leadership.ts";
import { race } from "../race.ts";
import { errorOfOutcome, type RaceOutcome } from "../raceContext.ts";
import type { CurrentLeader } from "../record/leaderView.ts";
import type { EndCause } from "../record/record.ts";
import { type ElectionSettings, electionSettings } from "../settings.ts";
import { defaultHolder, type ElectionLocation, type ElectionPorts, openElection } from "./electionPorts.ts";
import { openTermState, TermOvertaken, type TermState } from "./termState.ts";

/**
 * Timings are those of `ElectionSettings`, all optional: a lease of 15 s, renewed every 5 s, work stopped 2 s before
 * the lease can be another's. All contenders should use the same ones.
 */
export interface LeadOptions extends ElectionLocation, Partial<Omit<ElectionSettings, "watching">> {
  /** Of the election and its blob, such as `nightly`: contenders with the same name, namespace and account compete. */
  readonly name: string;
  /** Shown to whoever asks who leads, 1 to 128 characters. Default: host name and process id. */
  readonly holder?: string;
  /** Shown beside the holder. */
  readonly region?: string;
  /**
   * 0, the default: a leader that died is replaced when its lease expires, and `signal` fires before anyone else can
   * lead, provided this event loop runs and its clocks keep pace.
   *
   * 4,000 or more: early takeover. A leader whose heartbeats stop is replaced after about this many ms instead of a whole
   * lease. The cost: a process that was merely slow or cut off may believe for a moment that it still leads. So only
   * effects that storage itself refuses to an old term are safe: writes through `openState()`, creates with
   * `If-None-Match: *`, or your own writes that carry `term` to something that refuses smaller ones. Mail, HTTP calls
   * and plain writes are not. With `...fastTakeover` after about 2 s, for twice the calls.
   */
  readonly breakAfterMs?: number;
  /** False: one poll, and if another leads the result is `follower`. Default true: wait until it leads. */
  readonly wait?: boolean;
  /** True: at most one term; if it is lost the result is `lost`. Default false: campaign and run the task again. */
  readonly once?: boolean;
  /** Ends the campaign, or the term after the task has drained. */
  readonly signal?: AbortSignal;
  readonly on?: OnElectionEvent;
}

/** What the task gets. See `Leadership` for what each part promises. */
export interface Leader extends Leadership {
  /**
   * A small state that leaders of this election hand on, taken over for this term: storage refuses every late write
   * of an older term. This is the effect that stays safe with early takeover.
   */
  openState(): Promise<TermState>;
}

export type LeadResult<T> =
  /** The task ended by itself. */
  | { readonly kind: "done"; readonly term: number; readonly value: T; readonly handedOver: boolean }
  /** Only with `once`: the term ended before the task did. `drained`: the task has ended since. */
  | {
      readonly kind: "lost";
      readonly term: number;
      readonly cause: EndCause;
      readonly drained: boolean;
      readonly error?: unknown;
    }
  /** By `signal`, or because `budgetMs` is spent. `term` where one was led. */
  | Stopped
  /** Only with `wait: false`. */
  | { readonly kind: "follower"; readonly leader: CurrentLeader };

interface Stopped {
  readonly kind: "stopped";
  readonly by: "signal" | "budget";
  readonly term?: number;
  readonly drained: boolean;
}

/**
 * Campaigns for leadership and runs the task while leading. When leading has to end, `leader.signal` fires; the task
 * has then `drainCapMs` (5 s) to end, and the lease is released after that, so a successor never overlaps with a task
 * that obeys its signal.
 *
 * Rejects with the task's own error; `ConfigError` or `InputError` for wrong options; `StorageError` where the
 * account refuses the identity (and, with `wait: false`, where it does not answer); `CorruptDataError` or
 * `OtherVersionError` where the blob of that name holds something else. While it waits it survives any outage.
 */
export async function lead<T>(
  options: LeadOptions,
  task: (leader: Leader) => Promise<T> | T,
): Promise<LeadResult<T>> {
  const { connection: _, ...own } = options;
  return leadOn(openElection(options), own, task);
}

export async function leadOn<T>(
  ports: ElectionPorts,
  options: Omit<LeadOptions, "connection">,
  task: (leader: Leader) => Promise<T> | T,
): Promise<LeadResult<T>> {
  const { namespace: _, name, holder, region, wait = true, once = false, signal, on, ...timings } = options;
  const blob = electionBlob(name);
  if (blob === leaderBlob) {
    const message = `"${leaderBlob}" is the election of Leasefold's own app; choose another name.`;
    throw new ConfigError("bad-name", message);
  }
  if (typeof task !== "function")
    throw new ConfigError("no-task", "lead(options, task): task is a function.");
  const settings = electionSettings({ ...timings, watching: wait });
  const { clock, random } = ports;
  const racePorts = { lease: ports.lease(blob), clock, random, ...(on === undefined ? {} : { on }) };
  const startedAtMonotonicMs = clock.monotonicMs();
  let aboveTerm = 0;
  for (;;) {
    const raced = await race(racePorts, settings, {
      holder: holder ?? defaultHolder(),
      region,
      startedAtMonotonicMs,
      aboveTerm,
      stopping: signal,
      worthLeading: async () => true,
    });
    if (raced.kind === "claimed") {
      const { outcome, value, settled } = await raced.lead(async (leadership) => {
        const openState = () => openTermState(ports, termStateBlob(name), leadership);
        // Not a copy: the signals are read anew each time, with the clocks.
        return task(Object.assign(leadership, { openState }));
      });
      const { term, cause, drained, handedOver, error } = outcome;
      if (cause === "done" && value !== undefined) return { kind: "done", term, value: value.of, handedOver };
      const overtaken = error instanceof TermOvertaken;
      if (cause === "failed" && !overtaken) throw error;
      if (cause === "stopping") return { kind: "stopped", by: "signal", term, drained };
      if (cause === "budget") return { kind: "stopped", by: "budget", term, drained };
      if (once) {
        return { kind: "lost", term, cause, drained, ...(error === undefined ? {} : { error }) };
      }
      aboveTerm = Math.max(aboveTerm, term, overtaken ? error.seenTerm : 0);
      // Two tasks of one process must not overlap any more than those of two processes.
      await settledOrStopped(settled, signal);
    } else {
      const stopped = stoppedBefore(raced);
      if (stopped !== undefined) return stopped;
      if (raced.kind === "follower" && !wait) return raced;
      const error = errorOfOutcome(raced);
      if (error !== undefined && (!wait || raced.kind === "refused")) throw error;
    }
    await clock.sleep(settings.pollEveryMs, signal);
  }
}

/** Whether the campaign ended before a term was claimed. */
function stoppedBefore(outcome: RaceOutcome): Stopped | undefined {
  if (outcome.kind !== "refused") return undefined;
  if (outcome.code === "stopping") return { kind: "stopped", by: "signal", drained: true };
  return outcome.code === "too-little-budget" ? { kind: "stopped", by: "budget", drained: true } : undefined;
}

/** The campaign's signal outlives many terms, so no term leaves a listener on it. */
const settledOrStopped = (running: Promise<void>, signal: AbortSignal | undefined): Promise<void> =>
  new Promise((resolve) => {
    const done = (): void => {
      signal?.removeEventListener("abort", done);
      resolve();
    };
    if (signal?.aborted) return done();
    signal?.addEventListener("abort", done);
    void running.then(done);
  });
