import { countOf } from "../../model/figures.ts";
import type { Settings } from "../../model/settings.ts";
import { liveThreads } from "../../storage/liveThreads.ts";
import { type Client, clientLimits } from "../client.ts";

/** Packs that a plan takes to be computed at once, and where that number comes from, for people. */
export interface PlanWorkers {
  readonly workers: number;
  readonly workersFrom: string;
  /** threads of live instances, which the worker that plans sees too. */
  readonly seen?: number;
}

/** Asked with `--workers`. */
export const askedWorkers = (asked: number): PlanWorkers => ({ workers: asked, workersFrom: "--workers" });

/** An instance that computes nothing for long writes no heartbeat, so a fleet that rests counts as unknown. */
const unknown = (why: string): PlanWorkers => ({
  workers: clientLimits.planWorkers,
  workersFrom: `the default, as ${why}`,
});

/**
 * What the setting says, or else the threads of the live processes: one list call. Storage that is not there or does not
 * answer is no error, since most plans need none.
 */
export async function planWorkers(
  { LEASEFOLD_PLAN_WORKERS: set }: Pick<Settings, "LEASEFOLD_PLAN_WORKERS">,
  client: () => Promise<Client>,
): Promise<PlanWorkers> {
  if (set !== undefined)
    return {
      workers: Number.parseInt(set, 10),
      workersFrom: set.includes(" ") ? set : "LEASEFOLD_PLAN_WORKERS",
    };
  const found = await client()
    .then(({ storage, names }) => liveThreads(storage, names))
    .catch(() => undefined);
  if (found === undefined) return unknown("no storage answers");
  const { instances, threads } = found;
  if (threads === 0) return unknown("no instance is live");
  const workersFrom = `${countOf(threads, "thread")} of ${countOf(instances, "live instance")}`;
  return { workers: threads, workersFrom, seen: threads };
}
