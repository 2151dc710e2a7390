import type { OnElectionEvent } from "../election/events.ts";
import { keepDeadMansWake } from "../election/hold/deadMansWake.ts";
import { type Leadership, LostLeadership } from "../election/hold/leadership.ts";
import { race } from "../election/race.ts";
import type { RaceOutcome } from "../election/raceContext.ts";
import type { LeaderRecord } from "../election/record/record.ts";
import type { ElectionSettings } from "../election/settings.ts";
import { edgeOf, LeasefoldError, messageOf } from "../model/errors.ts";
import { limits } from "../model/limits.ts";
import { type Log, logEvents } from "../model/log.ts";
import { encodeWake, wakeFromLeader } from "../model/message.ts";
import { leaderBlob } from "../model/names.ts";
import type { Clock, Random } from "../storage/ports.ts";
import { type CoordinateSettings, coordinate } from "./coordinate.ts";
import { expiry } from "./deletion/expire.ts";
import { anyRunToLead } from "./look/markers.ts";
import type { CoordinatorPorts } from "./perform/perform.ts";
import { DeposedError } from "./perform/stateChain.ts";
import { GiveWayError } from "./perform/trouble.ts";

/**
 * One tick of one instance: race for the lease, and if a term is won and a run is active, coordinate until no run
 * is left or the budget ends. A tick and a wake do the same; in one process only one of them does it at a time.
 */
export interface Coordinator {
  tick(request: TickRequest): Promise<TickOutcome>;
}

export interface TickRequest {
  readonly startedBy: "tick" | "wake";
  /** When the host began this invocation, on the monotonic clock: the budget counts from there. */
  readonly startedAtMonotonicMs: number;
  /** Fires when the process is to stop. */
  readonly stopping?: AbortSignal;
}

/** `busy`: this very process is racing or leading already. `away`: it gave way to a newer version a moment ago. */
export type TickOutcome = RaceOutcome | { readonly kind: "busy" } | { readonly kind: "away" };

export interface CoordinatorOptions {
  readonly holder: string;
  readonly region?: string | undefined;
  /** What this app tells of itself in the lease record; nothing is decided by it. */
  readonly about?: Readonly<Record<string, string>> | undefined;
  readonly election: ElectionSettings;
  readonly loop: CoordinateSettings;
  /** Time limit of one attempt of a pack, as workers have it. */
  readonly packLimitMs: number;
  /** Finished runs are deleted after so many days; 0 keeps them for ever. */
  readonly keepDays: number;
}

export function coordinator(
  ports: Omit<CoordinatorPorts, "nextSequence" | "packLimitMs" | "tellActive"> & {
    readonly random: Random;
    readonly onElection: OnElectionEvent;
    /** Sees the lease record at each look of a contender. */
    readonly onPoll?: (record: LeaderRecord) => void;
  },
  options: CoordinatorOptions,
): Coordinator {
  const { storage, names, clock, random, log } = ports;
  const lease = storage.lease(names.coordination, leaderBlob);
  const newer = { gaveWay: false };
  let sequence = 0;
  const shell: CoordinatorPorts = {
    ...ports,
    nextSequence: () => ++sequence,
    packLimitMs: options.packLimitMs,
    tellActive: activeGauge(clock, log),
  };
  const old = expiry(shell, options.keepDays);
  let busy = false;
  let askedAgain = false;
  let aboveTerm = 0;
  let awayUntilMs = 0;

  /**
   * Gives what is for when the lease is free again. Throws what ended the term too early, so that its outcome tells;
   * the wake then surfaces by itself, and whoever it calls does not run into the same at once.
   */
  async function lead(leadership: Leadership): Promise<() => Promise<void>> {
    const wake = keepDeadMansWake(
      { queues: storage.queues, clock },
      { queue: names.wake, text: encodeWake(wakeFromLeader), signal: leadership.lost },
    );
    const after = async (): Promise<void> => {
      // Whoever comes next should come now if there is work; a marker written while we released counts too.
      const active = await anyRunToLead({ storage, names }).catch(() => true);
      if (active) await wake.handOver();
      else await wake.remove();
    };
    try {
      await coordinate(shell, leadership, options.loop, newer);
      // Between two slices a run that came meanwhile has its turn.
      while (!leadership.signal.aborted && (await old.due(leadership.lost))) {
        await old.slice(leadership);
        await coordinate(shell, leadership, options.loop, newer);
      }
    } catch (error) {
      if (error instanceof DeposedError) {
        aboveTerm = Math.max(aboveTerm, error.seenTerm);
        log(logEvents.deposed({ term: leadership.term, seenTerm: error.seenTerm }));
      }
      if (error instanceof GiveWayError) {
        newer.gaveWay = true;
        awayUntilMs = clock.monotonicMs() + options.election.leaseDurationS * 1_000;
        log(logEvents.gaveWay({ term: leadership.term, message: error.message }));
      }
      // These three are ends of a term like others: two have an event of their own, the election tells of the third.
      const told = [DeposedError, GiveWayError, LostLeadership].some((end) => error instanceof end);
      if (!told) {
        const code = error instanceof LeasefoldError ? error.code : "unexpected";
        const { term } = leadership;
        log(logEvents.leadingFailed(edgeOf(error).level, { term, code, message: messageOf(error) }));
        throw error;
      }
    }
    return after;
  }

  /** `after` is for when the lease is free again. */
  async function raceOnce(
    request: TickRequest,
  ): Promise<{ readonly outcome: RaceOutcome; readonly after?: (() => Promise<void>) | undefined }> {
    let after: (() => Promise<void>) | undefined;
    const { onElection: on, onPoll } = ports;
    const outcome = await race({ lease, clock, random, on, onPoll }, options.election, {
      holder: options.holder,
      region: options.region,
      about: options.about,
      startedAtMonotonicMs: request.startedAtMonotonicMs,
      startedBy: request.startedBy,
      aboveTerm,
      stopping: request.stopping,
      worthLeading: async ({ poll, signal }) =>
        (await anyRunToLead({ storage, names }, signal)) || (await old.dueWhenIdle(poll, signal)),
      lead: async (leadership) => {
        after = await lead(leadership);
      },
    });
    return outcome.kind === "led" && outcome.handedOver ? { outcome, after } : { outcome };
  }

  const passOn = () =>
    storage.queues
      .send(names.wake, encodeWake(wakeFromLeader), { visibleInS: limits.secondWakeS })
      .catch(() => {});

  return {
    async tick(request) {
      if (busy) {
        askedAgain ||= request.startedBy === "wake";
        return { kind: "busy" };
      }
      if (clock.monotonicMs() < awayUntilMs) {
        // The wake may be for an instance that understands more; it stays in the queue for that one.
        if (request.startedBy === "wake") await passOn();
        return { kind: "away" };
      }
      busy = true;
      let ended: Awaited<ReturnType<typeof raceOnce>>;
      try {
        ended = await raceOnce(request);
        // A wake that came after our look at the markers must not be lost with it.
        while (askedAgain && ended.outcome.kind === "nothingToLead") {
          askedAgain = false;
          ended = await raceOnce(request);
        }
      } finally {
        busy = false;
        askedAgain = false;
      }
      // The wake is made visible only after the release, or whoever it calls would find the lease held; and only
      // when this process can answer it too.
      await ended.after?.();
      return ended.outcome;
    },
  };
}

const everyMs = 60_000;

/**
 * Tells how many runs are open: once a minute while there are any, and once in a term when there are none. Alerts count
 * on the first as a sign of life, and on the second as the end of what one would wait for.
 */
export function activeGauge(clock: Clock, log: Log): (term: number, runs: number) => void {
  let toldAtMs = Number.NEGATIVE_INFINITY;
  let idleTerm: number | undefined;
  return (term, runs) => {
    const nowMs = clock.monotonicMs();
    if (runs === 0 ? idleTerm === term : nowMs - toldAtMs < everyMs) return;
    if (runs === 0) idleTerm = term;
    else toldAtMs = nowMs;
    log(logEvents.leading({ term, runs }));
  };
}
