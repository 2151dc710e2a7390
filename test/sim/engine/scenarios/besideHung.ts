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
  readonly instances: number;
  /** The last of them, on which the packs of `a` hang. */
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
/** Each step of a run, which are its plan, its packs, each level of nodes and its result, finds a thread that is free within this. */
const stepMs = 15_000;

/** Of eight such threads one comes free every five seconds. */
const slowMs = (pack: number): number => 20_000 + ((pack * 7_000) % 40_000);
const slowStepMs = 33_000;

const oneOf = <T>(all: readonly T[], { number }: Random): T => all[Math.floor(number() * all.length)] as T;
const drawn = ({ number }: Random, from: number, to: number): number =>
  from + Math.floor(number() * (to - from + 1));
const seconds = (ms: number): string => `${(ms / 1_000).toFixed(1)} s`;

function hungWorldOf(random: Random): HungWorld {
  const instances = drawn(random, 2, 8);
  return {
    instances,
    blocked: drawn(random, Math.ceil(instances / 2), instances - 1),
    packLimitMs: oneOf([60_000, 300_000, 600_000], random),
    packMs: oneOf([1_000, 4_000], random),
    smallMs: oneOf([50, 500, 2_000], random),
    packs: drawn(random, 1, 40),
    deep: random.number() < 0.3,
    together: random.number() < 0.5,
  };
}

/** Has the packs of `a` hang on these instances until the world is over, and waits until they have no thread. */
async function block(script: Script, names: ReadonlySet<string>, chunks: number): Promise<void> {
  const { judge, broken } = script;
  broken.doom = ({ kind }, run) => {
    const by = judge.by();
    const hangs = run === "a" && kind === "compute" && by?.message?.kind === "compute";
    return hangs && names.has(by.instance) ? "hangs" : undefined;
  };
  const hung = (): number =>
    judge.begun.filter(
      ({ handling: { message, instance }, endedMs }) =>
        endedMs === undefined && message?.kind === "compute" && message.run === "a" && names.has(instance),
    ).length;
  await script.submit({ id: "a", chunks, packSize: 1 });
  await script.until("no thread is free there", () => hung() >= threadsEach * names.size, 600_000);
}

/** How long a run takes from its submit to its end. */
async function timeOf(script: Script, id: string, packs: number): Promise<number> {
  const fromMs = script.world.nowMs();
  await script.submit({ id, chunks: packs, packSize: 1 });
  await script.until(`${id} is complete`, () => script.run(id)?.state?.phase === "complete");
  return script.world.nowMs() - fromMs;
}

async function endOf(script: Script): Promise<void> {
  script.broken.doom = undefined;
  await script.tell("cancel", "a");
}

/** Exported for a search through more of them than a test plays. */
function hungWorld(seed: number): Promise<SimulationResult> {
  const world = hungWorldOf(seededRandom(7_000 + seed));
  const { instances, blocked, packLimitMs, packMs, smallMs, packs, deep, together } = world;
  const chunkMs = (_chunk: number, _random: unknown, run: string): number => (run === "a" ? packMs : smallMs);
  const tree = deep ? deepTree : undefined;
  return play({ seed, chunkMs, packLimitMs, tree, calm: true }, async (script) => {
    const { judge, engine } = script;
    if (!together) script.start(leaderOnly);
    const role = together ? { breakAfterMs: 4_000 } : workerOnly;
    for (let count = 0; count < instances; count += 1) script.start(role);
    await script.world.advance(3_000);
    const aloneMs = await timeOf(script, "before", packs);
    const names = new Set(engine.instances.slice(-blocked).map(({ name }) => name));
    await block(script, names, 2_000);
    const tookMs = await timeOf(script, "r", packs);
    // On the threads that are left each pack may wait for one of `a`.
    const workMs = (packs * (smallMs + packMs)) / (threadsEach * (instances - blocked));
    const steps = 3 + (deep ? Math.ceil(Math.log2(packs)) : 0);
    const boundMs = aloneMs + workMs + steps * stepMs;
    if (tookMs > boundMs)
      judge.report(
        "a run holds up no other",
        `${packs} packs of ${smallMs} ms, ${blocked} of ${instances} instances hang for ${seconds(packLimitMs)}: ${seconds(tookMs)}, not ${seconds(boundMs)}`,
      );
    // Each place of an instance sends one message back, until a thread comes free there.
    const back = engine.log.filter(({ event }) => event === "work-put-back").length;
    const backMax = 2 * (2 * threadsEach) * instances;
    if (back > backMax)
      judge.report("messages do not pile up", `${back} messages went back to the queue, not ${backMax}`);
    await endOf(script);
  });
}

/** Every thread hangs, until another instance comes, as the platform adds them. */
const allHang = () =>
  play({ seed: 110, chunkMs: () => 200, packLimitMs: 300_000, calm: true }, async (script) => {
    const { judge, engine, world } = script;
    script.start(leaderOnly);
    for (let count = 0; count < 4; count += 1) script.start(workerOnly);
    await world.advance(3_000);
    const aloneMs = await timeOf(script, "before", 10);
    await block(script, new Set(engine.instances.slice(1).map(({ name }) => name)), 60);
    const comesMs = 40_000;
    engine.client.clock.after(comesMs, () => script.start(workerOnly));
    const tookMs = await timeOf(script, "r", 10);
    const boundMs = comesMs + aloneMs + 3 * stepMs;
    if (tookMs > boundMs)
      judge.report(
        "a run holds up no other",
        `all instances hang, another one comes after ${seconds(comesMs)}: ${seconds(tookMs)}, not ${seconds(boundMs)}`,
      );
    await endOf(script);
  });

/** All threads have packs that take a hundred times as long as planned, and many more of them wait. */
const allSlow = () =>
  play({ seed: 24, chunkMs: () => 200, calm: true }, async (script) => {
    const { judge, engine, broken, world } = script;
    script.start(leaderOnly);
    for (let count = 0; count < 4; count += 1) script.start(workerOnly);
    await world.advance(3_000);
    const aloneMs = await timeOf(script, "before", 1);
    broken.throws = async (run, chunk) => {
      if (run === "a" && chunk !== undefined && judge.by()?.message?.kind === "compute")
        await engine.client.clock.sleep(slowMs(chunk));
    };
    await script.submit({ id: "a", chunks: 2_000, packSize: 1 });
    await world.advance(120_000);
    const tookMs = await timeOf(script, "r", 1);
    const boundMs = aloneMs + 3 * slowStepMs;
    if (tookMs > boundMs)
      judge.report(
        "a run holds up no other",
        `all threads are slow: ${seconds(tookMs)}, not ${seconds(boundMs)}`,
      );
    broken.throws = undefined;
    await endOf(script);
  });

/** Ten packs beside many more that were sent before. */
const besideLarge = () =>
  play({ seed: 114, chunkMs: () => 4_000, calm: true }, async (script) => {
    const { judge, world } = script;
    script.start(leaderOnly);
    for (let count = 0; count < 4; count += 1) script.start(workerOnly);
    await world.advance(3_000);
    const aloneMs = await timeOf(script, "before", 10);
    for (const id of ["a", "b"]) await script.submit({ id, chunks: 2_000, packSize: 1 });
    await world.advance(60_000);
    const tookMs = await timeOf(script, "r", 10);
    if (tookMs > 2.5 * aloneMs)
      judge.report("a run holds up no other", `beside two: ${seconds(tookMs)}, alone ${seconds(aloneMs)}`);
    for (const id of ["a", "b"]) await script.tell("cancel", id);
  });

export const besideHung: Readonly<Record<string, Scenario>> = {
  ...Object.fromEntries(
    Array.from({ length: worlds }, (_, world) => [
      `a small run beside packs that hang, number ${world + 1}`,
      () => hungWorld(world + 1),
    ]),
  ),
  "a small run where every thread hangs until an instance comes": allHang,
  "a small run where every thread is slower than planned": allSlow,

  "a small run that comes a minute after two large ones": besideLarge,

  "packs that wait for packs of their own run stay where they are": () =>
    play({ seed: 113, chunkMs: () => 200, packLimitMs: 60_000, calm: true }, async (script) => {
      const { engine } = script;
      script.start(leaderOnly);
      for (let count = 0; count < 2; count += 1) script.start(workerOnly);
      await script.world.advance(3_000);
      await block(script, new Set(engine.instances.slice(1).map(({ name }) => name)), 60);
      await script.world.advance(40_000);
      const back = engine.log.filter(({ event }) => event === "work-put-back");
      script.must(back.length === 0, `${back.length} messages went back to the queue`);
      await endOf(script);
    }),

  "packs that keep all threads at work as long as planned send no message back": () =>
    play({ seed: 112, chunkMs: () => 25_000, calm: true }, async (script) => {
      const { engine } = script;
      script.start(leaderOnly);
      for (let count = 0; count < 4; count += 1) script.start(workerOnly);
      for (const id of ["a", "b"]) await script.submit({ id, chunks: 60, packSize: 1 });
      await script.world.advance(60_000);
      await script.submit({ id: "r", chunks: 4, packSize: 1 });
      await script.until("r is complete", () => script.run()?.state?.phase === "complete");
      const back = engine.log.filter(({ event }) => event === "work-put-back");
      script.must(back.length === 0, `${back.length} messages went back to the queue`);
      for (const id of ["a", "b"]) await script.tell("cancel", id);
    }),
};
