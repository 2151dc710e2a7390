import type { LeaderView } from "../../client/leader.ts";
import type { RunView } from "../../client/runView.ts";
import type { InstanceEvent } from "../../local/instances.ts";
import { addCalls, type CallCounts, calls, noCalls, subtractCalls } from "../../model/calls.ts";
import { countOf, stateText } from "../../model/figures.ts";
import { appEventOf } from "../render/instances.ts";
import type { DemoView, InstanceFact, LeaderFact, Note } from "./screen.ts";

export type Tracker = ReturnType<typeof makeTracker>;

/** Collects what the demo knows from instance events, the leader record and the run. Time is an argument. */
export function makeTracker(of: {
  readonly names: readonly string[];
  readonly cores: number;
  /** Of one instance. */
  readonly threads: number;
  readonly startedMs: number;
}) {
  const instances = new Map(of.names.map((name) => [name, new InstanceTrack(name, of.threads)]));
  const notes: Note[] = [];
  const samples: Sample[] = [];
  let stage = "";
  let dashboard: string | undefined;
  let to: number | undefined;
  let planned: { readonly done: number; readonly total: number } | undefined;
  let over = false;
  let hostCallsBefore = noCalls;
  let term = 0;
  let leading: { readonly name: string; readonly term: number } | undefined;
  let leaderSinceMs = 0;

  const hostCallsNow = () => [...instances.values()].map((one) => one.hostCalls()).reduce(addCalls, noCalls);
  const setLeader = (next: typeof leading, nowMs: number): void => {
    if (leading === next) return;
    leading = next;
    leaderSinceMs = nowMs;
  };
  /** Without a leader the run's state does not change, so the workers' own events count as well. */
  const packsNow = (): typeof planned => {
    if (planned === undefined) return undefined;
    const created = [...instances.values()].reduce((sum, { packs }) => sum + packs, 0);
    return { total: planned.total, done: Math.min(planned.total, Math.max(planned.done, created)) };
  };
  const leaderFact = (nowMs: number): LeaderFact => {
    if (over) return { kind: "not-needed" };
    const forMs = nowMs - leaderSinceMs;
    if (leading !== undefined) return { kind: "leading", ...leading, forMs };
    return term === 0 ? { kind: "none-yet" } : { kind: "nobody", forMs };
  };

  return {
    onEvent(event: InstanceEvent, nowMs: number): void {
      instances.get(event.instance)?.onEvent(event);
      const ended = event.kind === "state" && (event.state === "dead" || event.state === "restarting");
      if (ended && leading?.name === event.instance) setLeader(undefined, nowMs);
    },
    seeLeader(seen: LeaderView, nowMs: number): void {
      if (seen.kind === "nobody") setLeader(undefined, nowMs);
      // The record of a killed leader says `leading` until another takes over.
      if (seen.kind !== "leading" || seen.term <= term) return;
      term = seen.term;
      setLeader({ name: seen.holder, term }, nowMs);
    },
    seeRun(run: RunView, nowMs: number): void {
      over = !run.active;
      if (run.packs !== undefined) planned = { done: run.packs.done, total: run.packs.total };
      const packs = packsNow();
      if (packs === undefined) return;
      samples.push({ atMs: nowMs, done: packs.done });
      // The screen shows the stage once all packs are done.
      stage = over ? stateText(run) : "folding into one result";
    },
    enter(next: string): void {
      stage = next;
    },
    submitted(value: number): void {
      to = value;
      hostCallsBefore = hostCallsNow();
    },
    note(text: string, mood: Note["mood"], nowMs: number): Note {
      const note = { atMs: nowMs - of.startedMs, text, mood };
      notes.push(note);
      return note;
    },
    leader: () => leading,
    share(): number {
      const packs = packsNow();
      return packs === undefined || packs.total === 0 ? 0 : packs.done / packs.total;
    },
    /** Calls of the Functions host itself since the submit. */
    hostCalls: (): CallCounts => subtractCalls(hostCallsNow(), hostCallsBefore),
    serves(address: string): void {
      dashboard = address;
    },
    view(nowMs: number): DemoView {
      const packs = packsNow();
      const folding = packs !== undefined && packs.done === packs.total;
      const packsPerS = speedOf(samples, nowMs);
      const leader = over ? undefined : leading?.name;
      const elapsedMs = nowMs - of.startedMs;
      return {
        ...{ to, cores: of.cores, stage, dashboard, notes, elapsedMs, leader: leaderFact(nowMs) },
        ...(packs === undefined ? {} : { packs }),
        ...(packsPerS === undefined ? {} : { packsPerS }),
        instances: [...instances.values()].map((one) => one.fact(leader === one.name, folding)),
      };
    },
  };
}

/** Whether a message of a run begins to be worked on. */
export const beginsWork = (event: InstanceEvent): event is Extract<InstanceEvent, { kind: "started" }> =>
  event.kind === "started" && /^worker(Urgent)?$/.test(event.function);

/** The activity of one instance, from its events; a restarted instance is another process. */
class InstanceTrack {
  readonly name: string;
  packs = 0;
  readonly #threads: number;
  #state: Extract<InstanceEvent, { kind: "state" }>["state"] = "starting";
  #startedBefore = false;
  #reason: string | undefined;
  readonly #working = new Set<string>();
  /** Calls of earlier processes, as each counts from zero. */
  #earlierCalls = noCalls;
  #calls = noCalls;
  #messages = 0;

  constructor(name: string, threads: number) {
    this.name = name;
    this.#threads = threads;
  }

  onEvent(event: InstanceEvent): void {
    if (beginsWork(event)) {
      this.#working.add(event.invocation);
      this.#messages += 1;
    }
    if (event.kind === "ended") this.#working.delete(event.invocation);
    if (event.kind === "stats") this.#calls = event.hostCalls;
    if (event.kind === "log" && isPackDone(event.message)) this.packs += 1;
    if (event.kind !== "state") return;
    this.#state = event.state;
    this.#reason = event.reason;
    if (event.state === "running") this.#startedBefore = true;
    else this.#working.clear();
    if (event.state !== "starting") return;
    this.#earlierCalls = addCalls(this.#earlierCalls, this.#calls);
    this.#calls = noCalls;
  }

  /** Without the get and the delete of each message, which count as calls of its run. */
  hostCalls(): CallCounts {
    return subtractCalls(addCalls(this.#earlierCalls, this.#calls), calls({ queue: 2 * this.#messages }));
  }

  /** `folding`: all packs are done, so that a message in progress folds them. */
  fact(leads: boolean, folding: boolean): InstanceFact {
    const { name, packs } = this;
    const gone = {
      starting: this.#startedBefore ? "restarting" : "starting",
      restarting: "ended, restarts",
      dead: this.#reason ?? "dead",
      running: undefined,
    }[this.#state];
    if (gone !== undefined) return { name, packs, doing: gone, mood: "gone" };
    const work = this.#workText(folding);
    if (leads) return { name, packs, doing: work === "" ? "leading" : `leading, ${work}`, mood: "leading" };
    return { name, packs, doing: work || "idle", mood: work === "" ? "idle" : "working" };
  }

  #workText(folding: boolean): string {
    const { size } = this.#working;
    if (size === 0 || folding) return size === 0 ? "" : "folding";
    const computing = Math.min(size, this.#threads);
    const waiting = size === computing ? "" : `, ${size - computing} waiting`;
    return `computing ${countOf(computing, "pack")}${waiting}`;
  }
}

/** Whether a log line says that a pack's partial was written for the first time. */
function isPackDone(message: string): boolean {
  const app = appEventOf(message);
  return app?.event === "work-done" && app["kind"] === "compute" && app["outcome"] === "created";
}

export interface Sample {
  readonly atMs: number;
  /** Packs. */
  readonly done: number;
}

const windowMs = 6_000;
const spanMsMin = 1_000;

/** Packs per second over the last seconds; undefined until samples span a second. */
export function speedOf(samples: readonly Sample[], nowMs: number): number | undefined {
  const last = samples.at(-1);
  const first = samples.find(({ atMs }) => atMs >= nowMs - windowMs);
  if (last === undefined || first === undefined || last.atMs - first.atMs < spanMsMin) return undefined;
  return ((last.done - first.done) * 1_000) / (last.atMs - first.atMs);
}
