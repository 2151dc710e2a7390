import type { LeaderView } from "../../client/leader.ts";
import type { RunView } from "../../client/runView.ts";
import type { InstanceEvent } from "../../local/instances.ts";
import { addCalls, type CallCounts, noCalls, subtractCalls } from "../../model/calls.ts";
import { makeInstanceTrack, outputCreated } from "./instanceTrack.ts";
import type { DemoView, LeaderFact, Note } from "./renderDemo.ts";

/**
 * Puts together what the demo knows: events of the instances, looks at the leader record and at the run. Time is
 * an argument.
 */
export interface Tracker {
  onEvent(event: InstanceEvent, nowMs: number): void;
  seeLeader(seen: LeaderView, nowMs: number): void;
  seeRun(run: RunView, nowMs: number): void;
  enter(stage: string): void;
  submitted(to: number): void;
  note(text: string, mood: Note["mood"], nowMs: number): void;
  leader(): { readonly name: string; readonly term: number } | undefined;
  /** 0 to 1. */
  share(): number;
  /** Of the host itself, since the run was submitted. */
  hostCalls(): CallCounts;
  view(nowMs: number): DemoView;
}

export function makeTracker(of: {
  readonly names: readonly string[];
  readonly cores: number;
  /** Of one instance. */
  readonly threads: number;
  readonly startedMs: number;
  readonly onNote?: (note: Note) => void;
}): Tracker {
  const instances = new Map(of.names.map((name) => [name, makeInstanceTrack(name, of.threads)]));
  const notes: Note[] = [];
  const samples: Sample[] = [];
  let stage = "";
  let to: number | undefined;
  let packs: { readonly done: number; readonly total: number } | undefined;
  let created = 0;
  let over = false;
  let hostCallsBefore: CallCounts = noCalls;
  let term = 0;
  let leading: { readonly name: string; readonly term: number } | undefined;
  let leaderSinceMs = 0;

  const hostCallsNow = () => [...instances.values()].map((one) => one.hostCalls()).reduce(addCalls, noCalls);
  const nobodyLeads = (nowMs: number) => {
    if (leading === undefined) return;
    leading = undefined;
    leaderSinceMs = nowMs;
  };
  /** The state says what the leader has seen; workers' own word fills the time without one. */
  const packsNow = () =>
    packs === undefined
      ? undefined
      : { total: packs.total, done: Math.min(packs.total, Math.max(packs.done, created)) };
  const leaderFact = (nowMs: number): LeaderFact => {
    if (over) return { kind: "not-needed" };
    const forMs = nowMs - leaderSinceMs;
    if (leading !== undefined) return { kind: "leading", ...leading, forMs };
    return term === 0 ? { kind: "none-yet" } : { kind: "nobody", forMs };
  };
  const note = (text: string, mood: Note["mood"], nowMs: number) => {
    const made = { atMs: nowMs - of.startedMs, text, mood };
    notes.push(made);
    of.onNote?.(made);
  };

  return {
    onEvent(event, nowMs) {
      const one = instances.get(event.instance);
      if (one === undefined) return;
      one.onEvent(event);
      if (event.kind === "log" && outputCreated(event.message)) created += 1;
      const ended = event.kind === "state" && (event.state === "dead" || event.state === "restarting");
      if (ended && leading?.name === event.instance) nobodyLeads(nowMs);
    },
    seeLeader(seen, nowMs) {
      if (seen.kind === "nobody") nobodyLeads(nowMs);
      // The record of a leader that was killed says `leading` until another takes its place.
      if (seen.kind !== "leading" || seen.term <= term) return;
      term = seen.term;
      leading = { name: seen.holder, term };
      leaderSinceMs = nowMs;
    },
    seeRun(run, nowMs) {
      over = !run.active;
      if (run.packs !== undefined) packs = { done: run.packs.done, total: run.packs.total };
      const now = packsNow();
      if (now === undefined) return;
      samples.push({ atMs: nowMs, done: now.done });
      // Shown once no pack is left.
      stage = over ? run.word : "folding into one result";
    },
    enter(next) {
      stage = next;
    },
    submitted(value) {
      to = value;
      hostCallsBefore = hostCallsNow();
    },
    note,
    leader: () => leading,
    share() {
      const now = packsNow();
      return now === undefined || now.total === 0 ? 0 : now.done / now.total;
    },
    hostCalls: () => subtractCalls(hostCallsNow(), hostCallsBefore),
    view(nowMs) {
      const now = packsNow();
      const folding = now !== undefined && now.done === now.total;
      const packsPerS = speedOf(samples, nowMs);
      return {
        ...{ to, cores: of.cores, stage, notes, elapsedMs: nowMs - of.startedMs },
        ...(now === undefined ? {} : { packs: now }),
        ...(packsPerS === undefined ? {} : { packsPerS }),
        leader: leaderFact(nowMs),
        instances: [...instances.values()].map((one) =>
          one.fact(!over && leading?.name === one.name, folding),
        ),
      };
    },
  };
}

/** How much was done at one moment. */
export interface Sample {
  readonly atMs: number;
  readonly done: number;
}

const windowMs = 6_000;
const leastMs = 1_000;

/** Packs per second over the last seconds; undefined until that can be said. */
export function speedOf(samples: readonly Sample[], nowMs: number): number | undefined {
  const last = samples.at(-1);
  const first = samples.find(({ atMs }) => atMs >= nowMs - windowMs);
  if (last === undefined || first === undefined || last.atMs - first.atMs < leastMs) return undefined;
  return ((last.done - first.done) * 1_000) / (last.atMs - first.atMs);
}
