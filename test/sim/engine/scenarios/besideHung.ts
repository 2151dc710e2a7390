import type { Random } from "../../../../src/engine/storage/ports.ts";
import { seededRandom } from "../../../support/virtualClock.ts";
import { leaderOnly, play, type Script, workerOnly } from "../script.ts";
import { deepTree, type SimulationResult } from "../stage.ts";
import type { Scenario } from "./scenarios.ts";

/**
 * The packs of run `a` hang on some instances until their time limit, so that these have no thread. Run `r`, which is small,
 * ends in time all the same, whichever of its messages these instances take.
 */

interface HungWorld {
  readonly seed: number;
  readonly instances: number;
  /** Of these; the packs of `a` hang there. */
  readonly blocked: number;
  readonly packLimitMs: number;
  /** What a pack of `a` takes where it does not hang, and one of `r`. */
  readonly packMs: number;
  readonly smallMs: number;
  /** Packs of `r`. */
  readonly packs: number;
  readonly deep: boolean;
  /** The leader works as well. */
  readonly together: boolean;
}

const worlds = 12;
const threadsEach = 2;
/** A thread that is free, or comes free within this, is found by each step of a run: plan, packs, each level of nodes, finish. */
const stepMs = 20_000;

const oneOf = <T>(all: readonly T[], { number }: Random): T => all[Math.floor(number() * all.length)] as T;
const drawn = ({ number }: Random, from: number, to: number): number =>
  from + Math.floor(number() * (to - from + 1));

function hungWorldOf(seed: number): HungWorld {
  const random = seededRandom(7_000 + seed);
  const instances = drawn(random, 2, 8);
  return {
    seed,
    instances,
    blocked: drawn(random, Math.ceil(instances / 2), instances - 1),
    packLimitMs: oneOf([60_000, 300_000, 600_000], random),
    packMs: oneOf([100, 1_000, 4_000], random),
    smallMs: oneOf([50, 500, 2_000], random),
    packs: drawn(random, 1, 40),
    deep: random.number() < 0.3,
    together: random.number() < 0.5,
  };
}

/** Threads on which a pack of `a` hangs now. */
const hungThreads = ({ judge, engine }: Script): number =>
  judge.begun.filter(
    ({ handling: { message, instance }, endedMs }) =>
      message?.kind === "compute" &&
      message.run === "a" &&
      endedMs === undefined &&
      blockedIn(engine.instances).has(instance),
  ).length;

let blockedIn: (instances: Script["engine"]["instances"]) => ReadonlySet<string>;

/** Exported for the search over many more of them. */
export function hungWorld(seed: number, all = hungWorldOf(seed)): Promise<SimulationResult> {
  const { instances, blocked, packLimitMs, packMs, smallMs, packs, deep, together } = all;
  const chunkMs = (_chunk: number, _random: unknown, run: string): number => (run === "a" ? packMs : smallMs);
  const tree = deep ? deepTree : undefined;
  return play({ seed, chunkMs, packLimitMs, tree, calm: true }, async (script) => {
    const { world, judge, broken, engine } = script;
    if (!together) script.start(leaderOnly);
    const role = together ? { breakAfterMs: 4_000 } : workerOnly;
    for (let count = 0; count < instances; count += 1) script.start(role);
    const names = new Set(engine.instances.slice(-blocked).map(({ name }) => name));
    blockedIn = () => names;
    broken.doom = ({ kind }, run) => {
      const by = judge.by();
      const hangs = run === "a" && kind === "compute" && by?.message?.kind === "compute";
      return hangs && names.has(by.instance) ? "hangs" : undefined;
    };
    const timeOf = async (id: string): Promise<number> => {
      const fromMs = world.nowMs();
      await script.submit({ id, chunks: packs, packSize: 1 });
      await script.until(`${id} is complete`, () => script.run(id)?.state?.phase === "complete");
      return world.nowMs() - fromMs;
    };
    await world.advance(3_000);
    const aloneMs = await timeOf("before");
    await script.submit({ id: "a", chunks: 5_000, packSize: 1 });
    await script.until("the threads hang", () => hungThreads(script) >= threadsEach * blocked, 600_000);
    const tookMs = await timeOf("r");
    const free = threadsEach * (instances - blocked);
    const workMs = (packs * smallMs) / free;
    const levels = deep ? Math.ceil(Math.log2(packs)) : 0;
    const boundMs = aloneMs + 3 * workMs + (3 + levels) * stepMs;
    const text = `${packs} packs of ${smallMs} ms, ${blocked} of ${instances} instances hang for ${packLimitMs / 1_000} s`;
    const seconds = (ms: number): string => `${(ms / 1_000).toFixed(1)} s`;
    if (process.env["SHOW"]) console.log(seed, text, seconds(packMs), seconds(aloneMs), seconds(tookMs), seconds(boundMs));
    if (tookMs > boundMs)
      judge.report("a run holds up no other", `${text}: ${seconds(tookMs)}, not ${seconds(boundMs)}`);
    broken.doom = undefined;
    await script.tell("cancel", "a");
  });
}

export const besideHung: Readonly<Record<string, Scenario>> = Object.fromEntries(
  Array.from({ length: worlds }, (_, world) => [
    `a small run beside packs that hang, number ${world + 1}`,
    () => hungWorld(world + 1),
  ]),
);
