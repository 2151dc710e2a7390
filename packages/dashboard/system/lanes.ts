import type { Worker, Workers } from "../../../src/engine/client/inspection/workers.ts";
import { atHandText } from "../../../src/engine/model/packs.ts";
import type { RunState } from "../parts/runState.ts";

/** What a thread has computed, and from when to when by this page's clock; without an end it still does. */
interface Stretch {
  readonly key: string;
  readonly lane: number;
  readonly run: string;
  readonly text: string;
  readonly fromMs: number;
  readonly toMs?: number;
  /** Its process died with it. */
  readonly cut?: true;
}

/** A process with a lane for each thread. One whose work has ended has no heartbeat, and is shown while its lanes hold something. */
export interface Board {
  readonly worker: Worker;
  /** It has a heartbeat now. */
  readonly signed: boolean;
  readonly stretches: readonly Stretch[];
}

/** Time that a lane shows. */
export const laneMs = 120_000;

/** The boards after an answer that came at `nowMs`. A heartbeat does not name threads: each piece of work keeps the lane that it got. */
export function boardsAfter(
  before: readonly Board[],
  { workers }: Pick<Workers, "workers">,
  nowMs: number,
): readonly Board[] {
  const signed = workers.map((worker): Board => {
    const known = before.find((one) => keyOf(one.worker) === keyOf(worker));
    return { worker, signed: true, stretches: stretchesAfter(known?.stretches ?? [], worker, nowMs) };
  });
  const gone = before
    .filter(({ worker }) => !workers.some((one) => keyOf(one) === keyOf(worker)))
    .map(({ worker, stretches }) => {
      const idle = { ...worker, state: "live" as const, computes: [], holds: [] };
      return { worker: idle, signed: false, stretches: stretchesAfter(stretches, idle, nowMs) };
    })
    .filter(({ stretches }) => stretches.length > 0);
  return [...signed, ...gone].sort((a, b) => byName.compare(a.worker.instance, b.worker.instance));
}

const byName = new Intl.Collator("en", { numeric: true });
export const keyOf = ({ instance, boot }: Worker): string => `${instance} ${boot}`;

function stretchesAfter(before: readonly Stretch[], worker: Worker, nowMs: number): readonly Stretch[] {
  const isLive = worker.state === "live";
  const endMs = isLive ? nowMs : nowMs - worker.heartbeatAgeS * 1_000;
  const known = new Map(before.map((one) => [one.key, one]));
  const now = worker.computes.map((work) => {
    const key = `${work.uid} ${work.work} ${work.generation} ${work.send}`;
    return { key, work, old: known.get(key) };
  });
  const keys = new Set(now.map(({ key }) => key));
  const past = before.filter(({ key }) => !keys.has(key)).map((one) => ({ toMs: endMs, ...one }));
  const taken = new Set(now.map(({ old }) => old?.lane));
  const freeLane = (): number => {
    let lane = 0;
    while (taken.has(lane)) lane += 1;
    taken.add(lane);
    return lane;
  };
  const present = now.map(({ key, work, old }): Stretch => {
    const { lane, fromMs } = old ?? { lane: freeLane(), fromMs: endMs - work.forS * 1_000 };
    const stretch = { key, lane, run: work.run, text: atHandText(work), fromMs };
    return isLive ? stretch : { ...stretch, toMs: endMs, cut: true };
  });
  return [...past, ...present].filter(({ toMs = nowMs }) => toMs > nowMs - laneMs);
}

/** A setting allows no more threads; a heartbeat may claim any number. */
const lanesMax = 256;

/** The stretches of each thread, also of threads that compute nothing. */
export function lanesOf({ worker, stretches }: Board): readonly (readonly Stretch[])[] {
  const used = stretches.map(({ lane }) => lane + 1);
  const lanes = Math.min(lanesMax, Math.max(worker.threads, ...used));
  return Array.from({ length: lanes }, (_, lane) => stretches.filter((one) => one.lane === lane));
}

/** Where a stretch begins and how long it is, as shares of its lane, which ends now. */
export function placeOf({ fromMs, toMs }: Stretch, nowMs: number) {
  const share = (ms: number) => Math.min(Math.max((ms - nowMs) / laneMs + 1, 0), 1);
  return { left: share(fromMs), width: share(toMs ?? nowMs) - share(fromMs) };
}

export function stateOfBoard({ worker: { state, ended }, signed }: Board): RunState {
  if (!signed) return { tone: "idle", mark: "waiting", text: "no heartbeat: idle, or short work" };
  if (state === "live") return { tone: "run", mark: "working", text: "live" };
  if (state === "silent") return { tone: "warn", mark: "attention", text: "silent" };
  return { tone: "bad", mark: "failed", text: `ended: ${ended}` };
}
