import { setTimeout as sleep } from "node:timers/promises";
import { leader } from "../../src/engine/client/leader.ts";
import type { RealApp } from "./realApp.ts";

/**
 * Waits until an instance of one thread that does not lead is in the middle of a pack of so many ms, and gives its
 * index; undefined where nobody began or ended anything for the length of three packs.
 */
export async function busyFollower(app: RealApp, packMs: number): Promise<number | undefined> {
  for (;;) {
    const view = await leader(app.client);
    const nowMs = performance.now();
    if (nowMs - (app.events.findLast(isWork)?.atMs ?? nowMs) > 3 * packMs) return undefined;
    for (const [index, { name }] of app.instances.instances.entries()) {
      const busyMs = nowMs - (busySince(app, name) ?? nowMs);
      const leads = view.kind === "leading" && view.holder === name;
      if (!leads && busyMs > packMs / 5 && busyMs < (4 * packMs) / 5) return index;
    }
    await sleep(20);
  }
}

/** When the thread of an instance began what it does: it takes the next message as soon as it ended the one before. */
function busySince({ events }: RealApp, instance: string): number | undefined {
  const begun = new Map<string, number>();
  let endedMs = 0;
  for (const event of events) {
    if (event.instance !== instance || !isWork(event)) continue;
    if (event.kind === "started") begun.set(event.invocation, event.atMs);
    else if (begun.delete(event.invocation)) endedMs = event.atMs;
  }
  const [first] = begun.values();
  return first === undefined ? undefined : Math.max(first, endedMs);
}

type Event = RealApp["events"][number];

const isWork = (event: Event): event is Extract<Event, { kind: "started" | "ended" }> =>
  (event.kind === "started" || event.kind === "ended") &&
  (event.function === "worker" || event.function === "workerUrgent");
