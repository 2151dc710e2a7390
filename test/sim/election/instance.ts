import type { ElectionEvent } from "../../../src/election/events.ts";
import { type Leadership, LostLeadership } from "../../../src/election/hold/leadership.ts";
import { ageResolutionMs, type ElectionSettings } from "../../../src/election/settings.ts";
import {
  DeposedError,
  type StateStore,
  takeOverState,
} from "../../../src/engine/leader/perform/stateChain.ts";
import type { Leader } from "../../../src/engine/leader/term.ts";
import { namesOf } from "../../../src/engine/model/names.ts";
import type { BlobStore, LeaseStore } from "../../../src/engine/storage/ports.ts";
import { network, type Sender, type Weather } from "../../support/network.ts";
import { raceAndLead } from "../../support/raceAndLead.ts";
import type { VirtualClock, VirtualWorld } from "../../support/virtualClock.ts";
import type { Believer, Checkers } from "./checkers.ts";
import { stopWorkOracle } from "./stopWorkOracle.ts";
import { leaseOver, stateBlobsOver } from "./storageOver.ts";

export interface InstanceParts {
  readonly name: string;
  readonly world: VirtualWorld;
  /** The service's clock: requests travel on it. */
  readonly service: VirtualClock;
  readonly clock: VirtualClock;
  readonly weather: Weather;
  readonly lease: LeaseStore;
  readonly blobs: BlobStore;
  readonly settings: ElectionSettings;
  readonly checkers: Checkers;
  readonly tickEveryMs: number;
  /** Otherwise drawn, like the later ones. */
  readonly firstTickMs?: number;
  /** Never asks whether it still leads: only the fence stands between it and the state. */
  readonly reckless: boolean;
  /** Told when a fault killed it in the middle of a call. */
  onDeath?(): void;
}

/** One simulated process: it races at each tick, and writes the fenced state while it leads. */
export interface Instance {
  readonly name: string;
  readonly clock: VirtualClock;
  readonly weather: Weather;
  /** As long as its task runs. */
  believer(): Believer | undefined;
  /** Leads, has sealed the state, and may go on. */
  isAtWork(): boolean;
  isStopped(): boolean;
  isDead(): boolean;
  /** SIGSTOP, and SIGCONT after so long. `losesTime`: its monotonic clock stands still meanwhile. */
  stopFor(ms: number, losesTime?: boolean): void;
  resume(): void;
  /** SIGKILL. */
  die(): void;
  /** SIGTERM: drain, release, race no more. */
  terminate(): void;
  readonly ended: Promise<void>;
}

export const names = namesOf("sim");
const run = { id: "run", uid: "uid", generation: 1, cap: 100 };

export function startInstance(parts: InstanceParts): Instance {
  const { name, clock, world, settings, checkers, weather } = parts;
  const { random } = world;
  const stopping = new AbortController();
  let believer: Believer | undefined;
  let dead = false;
  let stopped = false;
  let working = false;
  let aboveTerm = 0;
  let sequence = 0;
  let acquires = new Set<string>();
  const releases = new Set<string>();

  const tell: Sender["tell"] = (event, fields) => world.tell(name, event, fields);
  const resume = (): void => {
    if (!stopped || dead) return;
    tell("process resumed");
    stopped = false;
    clock.resume();
    if (believer !== undefined) checkers.afterResume(believer);
  };
  const stopFor = (ms: number, losesTime = false): void => {
    if (stopped || dead) return;
    tell("process stopped", { ms: Math.round(ms) });
    stopped = true;
    clock.pause();
    const fromMs = world.nowMs();
    parts.service.after(ms, () => {
      if (losesTime && stopped) clock.loseMonotonic((world.nowMs() - fromMs) * 0.95);
      resume();
    });
  };
  const die = (): void => {
    if (dead) return;
    tell("process killed");
    dead = true;
    if (believer !== undefined) checkers.believers.delete(believer);
    believer = undefined;
    clock.crash();
    parts.onDeath?.();
  };

  const sender: Sender = { clock, isDead: () => dead, die, stopFor, tell };
  const carry = network(parts.service, sender, random, weather);
  const oracle = stopWorkOracle(clock, {
    leaseMs: settings.leaseDurationS * 1_000,
    marginMs: settings.marginMs,
    ageResolutionMs,
  });
  const lease = leaseOver(carry, parts.lease, oracle, {
    get acquires() {
      return acquires;
    },
    releases,
    onRelease(leaseId) {
      if (believer === undefined || oracle.leaseIdOf(believer.leadership.termid) !== leaseId) return;
      checkers.report("drained before release", `${name} releases while its task still works`);
    },
  });
  const store: StateStore = {
    storage: { blobs: stateBlobsOver(carry, parts.blobs, clock) },
    names,
    nextSequence: () => ++sequence,
  };

  async function lead(leadership: Leadership, asked: number): Promise<void> {
    const { termid } = leadership;
    const me: Believer = {
      name,
      leadership,
      lost: leadership.lost,
      isStopped: () => stopped,
      leftMs: () => oracle.leftMs(termid),
      excused: false,
      overdueSinceMs: undefined,
    };
    believer = me;
    checkers.begins(me, asked);
    const careless = new AbortController().signal;
    const leader: Leader = {
      ...leadership,
      lost: parts.reckless ? careless : leadership.lost,
      assertLeading() {
        if (parts.reckless) return;
        leadership.assertLeading();
        checkers.acts(me);
      },
    };
    try {
      await work(leader, leadership);
    } finally {
      checkers.believers.delete(me);
      // A task that did not end in time may see its process lead again before it does.
      if (believer === me) {
        working = false;
        believer = undefined;
      }
    }
  }

  /** Takes over the state and then writes it again and again, as a coordinator does. */
  async function work(leader: Leader, leadership: Leadership): Promise<void> {
    let chain: Awaited<ReturnType<typeof takeOverState>> | undefined;
    for (let afterwards = 0; afterwards < 3 && !dead; ) {
      if (leadership.signal.aborted) {
        if (!parts.reckless) break;
        afterwards += 1;
      }
      try {
        if (chain === undefined) {
          chain = await takeOverState(store, leader, { ...run, nowMs: 0 });
          checkers.relies(leader.term);
          working = true;
        } else {
          await chain.write(chain.state());
        }
      } catch (error) {
        if (error instanceof LostLeadership) break;
        if (error instanceof DeposedError) {
          aboveTerm = Math.max(aboveTerm, error.seenTerm); // The record was lost: claim again above it.
          break;
        }
      }
      leadership.progress();
      if (random.number() < 0.003) break;
      await clock.sleep(200 + random.number() * 1_500, parts.reckless ? undefined : leadership.signal);
    }
    // Now and then a task that does not end in time: the lease must be left to expire then.
    if (random.number() < 0.03) await clock.sleep(8_000);
  }

  async function live(): Promise<void> {
    for (let waitMs = parts.firstTickMs; !stopping.signal.aborted; waitMs = undefined) {
      await clock.sleep(waitMs ?? parts.tickEveryMs * (0.5 + random.number()), stopping.signal);
      if (stopping.signal.aborted) return;
      acquires = new Set();
      // A task of an earlier term that did not end in time may learn of a higher one while this race runs.
      const asked = aboveTerm;
      const on = ({ kind, ...fields }: ElectionEvent) => tell(`lease-${kind}`, fields);
      const outcome = await raceAndLead({ lease, clock, random, on }, settings, {
        holder: name,
        startedAtMonotonicMs: clock.monotonicMs(),
        startedBy: random.number() < 0.3 ? "wake" : "tick",
        aboveTerm: asked,
        async worthLeading() {
          if (random.number() < 0.1) await clock.sleep(random.number() * 3_000);
          return random.number() < 0.96;
        },
        lead: (leadership) => lead(leadership, asked),
        stopping: stopping.signal,
      });
      const letGo = outcome.kind === "led" && (!outcome.drained || outcome.cause === "lost");
      if (!letGo) checkers.afterRace(name, acquires, releases);
    }
  }

  return {
    name,
    clock,
    weather,
    believer: () => believer,
    isAtWork: () => working && !dead && !stopped && believer?.lost.aborted === false,
    isStopped: () => stopped,
    isDead: () => dead,
    stopFor,
    resume,
    die,
    terminate: () => stopping.abort(),
    ended: live(),
  };
}
