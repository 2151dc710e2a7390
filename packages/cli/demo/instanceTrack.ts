import { countOf } from "../../../src/engine/model/figures.ts";
import type { InstanceEvent } from "../local/instances.ts";
import { appEventOf } from "../render/instances.ts";
import type { WorkerFact } from "../render/runScreen.ts";

/** Whether a message of a run begins to be worked on. */
export const beginsWork = (event: InstanceEvent): event is Extract<InstanceEvent, { kind: "started" }> =>
  event.kind === "started" && /^worker(Urgent)?$/.test(event.function);

/** What one instance does, by its events: packs of the demo are too short to leave a heartbeat. */
export function instanceTrack(name: string, threads: number) {
  const working = new Set<string>();
  let state: Extract<InstanceEvent, { kind: "state" }>["state"] = "starting";
  let reason: string | undefined;
  let packs = 0;
  return {
    onEvent(event: InstanceEvent): void {
      if (beginsWork(event)) working.add(event.invocation);
      if (event.kind === "ended") working.delete(event.invocation);
      if (event.kind === "log" && isPackDone(event.message)) packs += 1;
      if (event.kind !== "state") return;
      ({ state, reason } = event);
      if (state !== "running") working.clear();
    },
    fact(leads: boolean): WorkerFact {
      const done = countOf(packs, "pack");
      if (state !== "running") return { name, done, doing: reason ?? state, style: "red" };
      const computing = Math.min(working.size, threads);
      const waiting = working.size > computing ? `, ${working.size - computing} waiting` : "";
      const work = computing === 0 ? "" : `computing ${countOf(computing, "pack")}${waiting}`;
      if (leads) return { name, done, doing: work === "" ? "leading" : `leading, ${work}`, style: "bold" };
      return { name, done, doing: work || "idle", style: work === "" ? "dim" : "green" };
    },
  };
}

/** Whether a log line says that a pack's partial was written for the first time. */
function isPackDone(message: string): boolean {
  const app = appEventOf(message);
  return app?.event === "work-done" && app["kind"] === "compute" && app["outcome"] === "created";
}
