import type { InstanceEvent } from "../../local/instances.ts";
import { addCalls, type CallCounts, noCalls } from "../../model/calls.ts";
import { appEventOf } from "../render/instanceEvent.ts";
import type { InstanceFact } from "./renderDemo.ts";

type State = Extract<InstanceEvent, { kind: "state" }>["state"];

/** What one instance is doing, from its own events; it may be several processes one after the other. */
export interface InstanceTrack {
  readonly name: string;
  onEvent(event: InstanceEvent): void;
  hostCalls(): CallCounts;
  /** `folding`: the packs are done, so that a message taken is one that folds them. */
  fact(leads: boolean, folding: boolean): InstanceFact;
}

const isWorker = (functionName: string): boolean => /^worker(Urgent)?$/.test(functionName);

export function makeInstanceTrack(name: string, threads: number): InstanceTrack {
  let state: State = "starting";
  let startedBefore = false;
  let reason: string | undefined;
  let packs = 0;
  let earlierCalls: CallCounts = noCalls;
  let calls: CallCounts = noCalls;
  const working = new Set<string>();

  const enter = (next: State) => {
    state = next;
    if (next === "running") startedBefore = true;
    if (next !== "starting") return;
    // Another process, which counts from zero.
    earlierCalls = addCalls(earlierCalls, calls);
    calls = noCalls;
  };

  return {
    name,
    onEvent(event) {
      if (event.kind === "state") {
        reason = event.reason;
        if (event.state !== "running") working.clear();
        enter(event.state);
      }
      if (event.kind === "started" && isWorker(event.function)) working.add(event.invocation);
      if (event.kind === "ended") working.delete(event.invocation);
      if (event.kind === "stats") calls = event.hostCalls;
      if (event.kind === "log" && outputCreated(event.message)) packs += 1;
    },
    hostCalls: () => addCalls(earlierCalls, calls),
    fact: (leads, folding) => ({
      name,
      packs,
      ...doingOf({ state, startedBefore, reason, working: working.size, threads, leads, folding }),
    }),
  };
}

export function doingOf(of: {
  readonly state: State;
  readonly startedBefore: boolean;
  readonly reason: string | undefined;
  /** Messages taken. */
  readonly working: number;
  /** More messages than these wait for one. */
  readonly threads: number;
  readonly leads: boolean;
  readonly folding: boolean;
}): Pick<InstanceFact, "doing" | "mood"> {
  switch (of.state) {
    case "starting":
      return { doing: of.startedBefore ? "starting again" : "starting", mood: "gone" };
    case "restarting":
      return { doing: "ended, starts again", mood: "gone" };
    case "stopped":
      return { doing: "frozen", mood: "gone" };
    case "dead":
      return { doing: of.reason ?? "dead", mood: "gone" };
    case "running": {
      const work = workOf(of);
      if (of.leads)
        return { doing: ["leading", work].filter((part) => part !== "").join(", "), mood: "leading" };
      return work === "" ? { doing: "idle", mood: "idle" } : { doing: work, mood: "working" };
    }
  }
}

function workOf(of: {
  readonly working: number;
  readonly threads: number;
  readonly folding: boolean;
}): string {
  if (of.working === 0) return "";
  if (of.folding) return "folding";
  const computing = Math.min(of.working, of.threads);
  const waiting = of.working === computing ? "" : `, ${of.working - computing} waiting`;
  return `computing ${computing} ${computing === 1 ? "pack" : "packs"}${waiting}`;
}

/** Whether a line of the log says that a pack's partial was written, for the first time. */
export function outputCreated(message: string): boolean {
  const app = appEventOf(message);
  return (
    app?.event === "work-done" && app.fields["kind"] === "compute" && app.fields["outcome"] === "created"
  );
}
