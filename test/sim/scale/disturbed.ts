import { sumOf } from "../../support/durations.ts";
import type { Role } from "../../support/engineInstance.ts";
import { threadTimeOf } from "../engine/checks/threadTime.ts";
import { leaderOnly, type Script, scriptOn, workerOnly } from "../engine/script.ts";
import { stage } from "../engine/stage.ts";

/** Runs on instances that something happens to, in virtual time; `disturbances.ts` has the cases. */
export interface Disturbed {
  readonly seed?: number;
  readonly instances: number;
  /** Of each instance. Default 2. */
  readonly threads?: number;
  /** By id: what the packs of a run take, in ms of a thread. All are submitted at once. */
  readonly runs: Readonly<Record<string, readonly number[]>>;
  /** What the packs of runs take that `disturb` submits. Default 100. */
  readonly otherMs?: number;
  /** Begins when the runs are submitted, beside them. Waits on the service's clock only. */
  readonly disturb?: (script: Script, sleep: (ms: number) => Promise<void>) => Promise<void>;
  /** Instances lead as well as work. Otherwise the leader is apart, and nothing happens to it. */
  readonly leading?: boolean;
  readonly role?: Role;
  readonly limitMs?: number;
}

export interface DisturbedResult {
  /** From the submits until the manifest is there, by id. */
  readonly tookMs: Readonly<Record<string, number>>;
  readonly longestMs: number;
  /** Thread time of the packs over what they need once; with what died of it. */
  readonly spent: number;
  readonly died: number;
  /** Packs begun over packs. */
  readonly begun: number;
  readonly violations: readonly string[];
}

export async function runDisturbed(one: Disturbed): Promise<DisturbedResult> {
  const { runs, limitMs = 2 * 3_600_000, otherMs = 100 } = one;
  const chunkMs = (chunk: number, _: unknown, run: string): number => runs[run]?.[chunk] ?? otherMs;
  const script = scriptOn(stage({ seed: one.seed ?? 1, chunkMs, calm: true }));
  const { world, judge, engine } = script;
  const role = {
    threads: one.threads ?? 2,
    ...(one.leading === true ? { breakAfterMs: 4_000 } : workerOnly),
  };
  if (one.leading !== true) script.start(leaderOnly);
  for (let count = 0; count < one.instances; count += 1) script.start({ ...role, ...one.role });
  await world.advance(5_000);
  const startMs = world.nowMs();
  const ids = Object.keys(runs);
  for (const id of ids) await script.submit({ id, chunks: runs[id]?.length ?? 0, packSize: 1 });
  const { sleep } = engine.client.clock;
  let over = false;
  const disturbing = one.disturb?.(script, async (ms) => {
    await sleep(ms);
    // Nothing more happens once the runs have ended.
    if (over) await new Promise(() => {});
  });
  let broken: unknown;
  disturbing?.catch((error: unknown) => {
    broken = error;
  });
  const left = new Set(ids);
  const tookMs: Record<string, number> = {};
  const ended = (): boolean => {
    for (const id of left) {
      const { state, manifests } = script.run(id) ?? {};
      if (state?.phase !== "failed" && !manifests?.has(1)) continue;
      tookMs[id] = world.nowMs() - startMs;
      left.delete(id);
    }
    return left.size === 0 || judge.violations.length > 0 || broken !== undefined;
  };
  await world.until(ended, limitMs);
  over = true;
  if (broken !== undefined) throw broken;
  for (const id of left) tookMs[id] = Number.POSITIVE_INFINITY;
  const packs = ids.flatMap((id) => runs[id] ?? []);
  const time = threadTimeOf(script, ids);
  return {
    ...{ tookMs, longestMs: Math.max(...Object.values(tookMs)) },
    ...{
      spent: time.spentMs / sumOf(packs),
      died: time.diedMs / sumOf(packs),
      begun: time.begun / packs.length,
    },
    violations: judge.violations.map(({ checker, what }) => `${checker}: ${what}`),
  };
}
