import type { Random } from "../../../src/engine/storage/ports.ts";
import { durationsOf, type Shape, sumOf } from "../../support/durations.ts";
import type { FarCall } from "../../support/farStorage.ts";
import type { Weather } from "../../support/network.ts";
import { seededRandom } from "../../support/virtualClock.ts";
import { threadTimeOf } from "./checks/threadTime.ts";
import { loseMessages } from "./losses.ts";
import { leaderOnly, play, type Script, workerOnly } from "./script.ts";
import { unevenFrom } from "./seeds.ts";
import type { SimulationResult } from "./stage.ts";
import { isHeartbeat, oddHeartbeats } from "./storm.ts";

/**
 * One world of packs that are unlike one another, of a millisecond to a minute, in up to twenty runs on up to two hundred
 * threads, of which some may share cores. Nothing happens, or instances are killed or stopped, messages are lost, peeks
 * or heartbeats of workers are odd. Every run ends within a bound of that world, and threads compute little more than needed.
 */

const shapes: readonly Shape[] = [
  { kind: "even" },
  { kind: "lognormal", sigma: 1 },
  { kind: "lognormal", sigma: 2 },
  { kind: "bimodal", oneIn: 25, times: 60 },
  { kind: "bimodal", oneIn: 50, times: 60 },
];

const incidents = [
  "nothing",
  "nothing",
  "nothing",
  "kills",
  "stops",
  "losses",
  "odd peeks",
  "odd heartbeats",
] as const;
type Incident = (typeof incidents)[number];

interface UnevenWorld {
  readonly seed: number;
  readonly shape: Shape;
  readonly incident: Incident;
  readonly instances: number;
  readonly threads: number;
  /** Of an instance; undefined: one for each of its threads. */
  readonly cores: number | undefined;
  /** The leader works as well, and is struck as well. */
  readonly together: boolean;
  /** What the packs of each run take, in ms. */
  readonly runs: Readonly<Record<string, readonly number[]>>;
}

/** All packs of a world, so that it takes about a second to play. */
const packsMax = 500;
/** A pack may take this long: well under the time limit. */
const packMsMax = 100_000;
const stopMs = 20_000;

/** A number between the two, each order of magnitude as likely as any other. */
const drawn = ({ number }: Random, from: number, to: number): number => from * (to / from) ** number();
const oneOf = <T>(all: readonly T[], { number }: Random): T => all[Math.floor(number() * all.length)] as T;

function unevenWorldOf(seed: number): UnevenWorld {
  const random = seededRandom(seed);
  const shape = oneOf(shapes, random);
  const incident = oneOf(incidents, random);
  const paceMs = drawn(random, 3, 25_000);
  const threads = Math.round(drawn(random, 1, 8));
  const instances = Math.max(2, Math.round(drawn(random, 2, 200) / threads));
  const cores = threads > 1 && random.number() < 0.3 ? Math.ceil(threads / 2) : undefined;
  const runs = Math.round(drawn(random, 1, 20));
  const packs = Math.round(drawn(random, 8, packsMax / runs));
  const sizes = Array.from({ length: runs }, () => Math.max(1, Math.round(packs * (0.5 + random.number()))));
  const ofRun = (size: number) => durationsOf(shape, { packs: size, paceMs, maxMs: packMsMax }, random);
  return {
    ...{ seed, shape, incident, instances, threads, cores, together: random.number() < 0.5 },
    runs: Object.fromEntries(sizes.map((size, index) => [`r${index}`, ofRun(size)])),
  };
}

/** `k` × the ideal time + `c` is the bound. All in ms of the wall, but for `needMs`, which is thread time. */
interface Bound {
  readonly idealMs: number;
  readonly k: number;
  readonly cMs: number;
  readonly needMs: number;
}

function boundOf({ runs, instances, threads, cores = threads, incident }: UnevenWorld): Bound {
  const packs = Object.values(runs).flat();
  const needMs = sumOf(packs);
  // A pack that shares its core takes longer.
  const longestMs = Math.max(...packs) * (threads / cores);
  const idealMs = needMs / (instances * cores) + longestMs;
  // Planning times a chunk, and the first polls of workers come late.
  const calmMs = 20_000 + longestMs;
  // A heartbeat becomes stale, or a message is known to be lost; what is resent is computed whole.
  const recoveryMs = incident === "nothing" ? 0 : 60_000 + 5 * longestMs;
  return { idealMs, needMs, k: 1.1, cMs: calmMs + recoveryMs };
}

export function unevenWorld(seed: number): Promise<SimulationResult> {
  const world = unevenWorldOf(seed - unevenFrom + 1);
  const chunkMs = (chunk: number, _: unknown, run: string): number => world.runs[run]?.[chunk] ?? 0;
  return play({ seed, chunkMs, calm: true }, (script) => playWorld(script, world));
}

async function playWorld(script: Script, one: UnevenWorld): Promise<void> {
  const { world, judge, queues } = script;
  const { incident, instances, threads, cores, together, runs } = one;
  const { idealMs, k, cMs, needMs } = boundOf(one);
  const ids = Object.keys(runs);
  // What nobody can compute in time is computed by others as well: stopped threads stand still with it.
  const cost: Cost = { wastedMs: 0, over: false };
  const onStop = (): void => {
    cost.wastedMs += threads * (stopMs + Math.max(...Object.values(runs).flat()));
  };
  const weather = weatherOf(incident === "odd heartbeats" ? world.random : undefined, onStop);
  const join = () =>
    void script.start({ ...(together ? { breakAfterMs: 4_000 } : workerOnly), threads, cores, weather });
  // Where the leader is apart, nothing happens to it.
  if (!together) script.start(leaderOnly);
  for (let count = 0; count < instances; count += 1) join();
  if (incident === "odd peeks") queues.oddPeeks = 0.3;
  // The host hides what a dead process had for longer than this world lasts.
  judge.ledger.losesMessages = incident === "losses" || incident === "kills";
  await world.advance(3_000);
  const startMs = world.nowMs();
  for (const [id, packs] of Object.entries(runs))
    await script.submit({ id, chunks: packs.length, packSize: 1 });
  strike(script, { ...one, idealMs, join, onStop, cost });
  await script.until(
    "every run is complete",
    () => ids.every((id) => script.run(id)?.state?.phase === "complete"),
    10 * idealMs + 3_600_000,
  );
  const tookMs = world.nowMs() - startMs;
  cost.over = true;
  const timeOfThreads = threadTimeOf(script);
  // Once a checker has reported, no more time passes.
  await script.until("every marker is gone", () => ids.every((id) => script.run(id)?.marker === undefined));
  // Stops go on as long as the world does where heartbeats are odd.
  const stoppedMs = cost.wastedMs / (instances * (cores ?? threads));
  const boundMs = k * idealMs + cMs + stoppedMs;
  const text = textOf(one);
  if (tookMs > boundMs)
    judge.report(
      "every run ends in time",
      `${text}: ${seconds(tookMs)}, not ${k} × ${seconds(idealMs)} + ${seconds(cMs)} + ${seconds(stoppedMs)}`,
    );
  const { spentMs, diedMs } = timeOfThreads;
  const nominalMs = cores === undefined ? spentMs : nominalOf(script, one);
  // The very last two packs of a run may be computed twice, as a slow worker would keep it waiting.
  const lastMs = Object.values(runs).reduce((sum, packs) => sum + 2 * Math.max(...packs), 0);
  const allowedMs = (incident.startsWith("odd") ? 1.6 : 1.1) * needMs + lastMs + diedMs + cost.wastedMs;
  if (nominalMs > allowedMs)
    judge.report(
      "hardly anything is computed twice",
      `${text}: ${seconds(nominalMs)} of threads, not ${seconds(allowedMs)}; ${seconds(needMs)} are needed, ${seconds(diedMs)} died`,
    );
}

/** What the begun packs take on cores of their own. */
const nominalOf = ({ judge }: Script, { runs }: UnevenWorld): number =>
  judge.begun.reduce((sum, { task, handling: { message } }) => {
    if (task.kind !== "compute" || message?.kind !== "compute") return sum;
    return sum + (runs[message.run]?.[task.from ?? 0] ?? 0);
  }, 0);

const seconds = (ms: number): string => `${(ms / 1_000).toFixed(1)} s`;

function textOf({ runs, shape, incident, instances, threads, cores }: UnevenWorld): string {
  const all = Object.values(runs);
  const packs = all.flat();
  const shared = cores === undefined ? "" : ` on ${cores} cores`;
  const meanMs = Math.round(sumOf(packs) / packs.length);
  const unlike = shape.kind === "even" ? "even" : JSON.stringify(Object.values(shape));
  return `${incident}, ${all.length} runs of ${packs.length} ${unlike} packs of ${meanMs} ms on ${instances} × ${threads} threads${shared}`;
}

interface Cost {
  /** Thread time that is spent in vain without a death. */
  wastedMs: number;
  /** The runs have ended. */
  over: boolean;
}

function weatherOf(random: Random | undefined, onStop: () => void): Weather<FarCall> {
  return {
    calm: false,
    delays: { veryLate: () => 15_000, stop: () => stopMs },
    fateOf(call) {
      if (random === undefined || !isHeartbeat(call) || random.number() >= 0.3) return "arrives";
      const fate = oneOf(oddHeartbeats, random);
      if (fate.startsWith("stops")) onStop();
      return fate;
    },
  };
}

/** One to three blows within the time that the world takes. */
function strike(
  { world, engine }: Script,
  how: UnevenWorld & { idealMs: number; cost: Cost; join(): void; onStop(): void },
): void {
  const { random } = world;
  const { incident, idealMs, cost, join, together } = how;
  const blow = (): void => {
    if (cost.over) return;
    const alive = engine.instances.slice(together ? 0 : 1).filter((one) => !one.isDead());
    if (alive.length === 0) return;
    const victim = oneOf(alive, random);
    if (incident === "kills") {
      victim.kill();
      engine.client.clock.after(2_000, () => cost.over || join());
    } else if (incident === "stops") {
      victim.stopFor(stopMs);
      how.onStop();
    } else if (incident === "losses") void loseMessages(engine.storage, random);
  };
  const blows = 1 + Math.floor(random.number() * 3);
  for (let count = 0; count < blows; count += 1) engine.client.clock.after(random.number() * idealMs, blow);
}
