import { setTimeout as sleep } from "node:timers/promises";
import { leader } from "../../src/client/leader.ts";
import type { RealApp } from "./realApp.ts";

/**
 * Waits until an instance that does not lead is in the middle of a pack of so many ms, and gives its index; undefined
 * where no worker began anything for the length of three packs.
 */
export async function busyFollower(app: RealApp, packMs: number): Promise<number | undefined> {
  for (;;) {
    const view = await leader(app.client);
    const nowMs = performance.now();
    const latest = app.events.findLast((event) => isWork(event))?.atMs ?? nowMs;
    for (const { instance, atMs } of workAt(app)) {
      const index = app.instances.instances.findIndex((one) => one.name === instance);
      const leads = view.kind === "leading" && view.holder === instance;
      const inTheMiddle = nowMs - atMs > packMs / 5 && nowMs - atMs < (4 * packMs) / 5;
      if (!leads && index >= 0 && inTheMiddle) return index;
    }
    if (nowMs - latest > 3 * packMs) return undefined;
    await sleep(20);
  }
}

/** Deliveries of work that have begun and not ended. */
function workAt({ events }: RealApp) {
  const begun = new Map<string, { readonly instance: string; readonly atMs: number }>();
  for (const event of events) {
    if (isWork(event)) begun.set(event.invocation, event);
    if (event.kind === "ended") begun.delete(event.invocation);
  }
  return begun.values();
}

type Event = RealApp["events"][number];

const isWork = (event: Event): event is Extract<Event, { kind: "started" }> =>
  event.kind === "started" && (event.function === "worker" || event.function === "workerUrgent");
