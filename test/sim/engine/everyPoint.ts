import type { Storage } from "../../../src/engine/storage/ports.ts";
import type { QueueStore } from "../../../src/engine/storage/queuePort.ts";
import type { Role } from "../../support/engineInstance.ts";
import { simNames as names } from "../../support/engineWorld.ts";
import type { FarCall } from "../../support/farStorage.ts";
import type { Fate, Weather } from "../../support/network.ts";
import { burnNext } from "./burnNext.ts";
import { liveBySchedule } from "./scenarios/schedules.ts";
import { leaderOnly, playOut, type Script, scriptOn, workerOnly } from "./script.ts";
import { deepTree, type SimulationResult, stage } from "./stage.ts";

export type Story = keyof typeof stories;

/** One fault at one call in the life of a leader, a worker, or an instance that is both. */
export interface Point {
  readonly who: "leader" | "worker" | "instance";
  /** Which of its calls, from 1; 0 is a life without a fault. */
  readonly call: number;
  readonly fate: Fate;
  /** What happens meanwhile, if it is not a run with all that can happen to it. */
  readonly story?: Story;
}

export interface PointResult extends SimulationResult {
  /** Calls at which a fault can matter: not one that found nothing to do, nor one of the election's own. */
  readonly calls: readonly number[];
  /** Those of them that have an effect. */
  readonly effects: readonly number[];
}

/**
 * A death before calls that have an effect. A death after one finds storage as before the next, and so does one before a call
 * without effect: fewer of those are met. At some effects a sleep of minutes with its request in the socket. `thorough`, as in
 * `npm run test:deep`: a death before each call that has an effect, and more of the others. `npm run sim -- --point` plays any.
 */
export function* pointsOf(
  of: Omit<Point, "call" | "fate">,
  life: PointResult,
  thorough: boolean,
): Generator<Point> {
  const without = life.calls.filter((call) => !life.effects.includes(call));
  for (const [fate, calls, every] of [
    ["dies before", life.effects, thorough ? 1 : 17],
    ["dies after", life.effects, thorough ? 9 : 53],
    ["stops before", life.effects, thorough ? 5 : 41],
    ["dies before", without, thorough ? 13 : 97],
  ] as const)
    for (const [index, call] of calls.entries()) if (index % every === 0) yield { ...of, call, fate };
}

/**
 * A run with all that can happen to it: a tree of three levels, a cap, a message burnt into poison, a pause, a chunk
 * that fails and is tolerated, a retry that mends it, a deletion, and another run under the same id. Whoever `who`
 * says meets the fault at the given call; another of its kind is there to take over.
 */
export async function everyPoint({ who, call, fate, story }: Point): Promise<PointResult> {
  const life = scriptOn(stage({ seed: 5, tree: deepTree, chunkMs }));
  const calls: FarCall[] = [];
  const dull = new Set<number>();
  const faulty: Weather<FarCall> = {
    calm: false,
    delays: { veryLate: () => 90_000, stop: () => 150_000 },
    fateOf(one) {
      calls.push(one);
      return calls.length === call ? fate : "arrives";
    },
  };
  const hero: Role = {
    weather: faulty,
    translated: (storage) => noticeEmpty(storage, () => calls.length, dull),
  };
  const leader: Role = { ...leaderOnly, fastLoopMs: 300 };
  const roles = { leader, worker: workerOnly, instance: { ...leader, works: true } };
  // An instance does all by itself, the work of its own leader without a queue.
  for (const one of who === "instance" ? ([who] as const) : (["leader", "worker"] as const))
    life.start(who === one ? { ...roles[one], ...hero } : roles[one]);
  const another = () => void life.start(roles[who]);
  let begun = 0;
  const result = await playOut(life, async () => {
    const tell: Telling = story === undefined ? liveThrough : stories[story];
    await tell(life, another, () => {
      begun = calls.length;
    });
  });
  const matter = calls
    .map((_, index) => index + 1)
    .filter((index) => index > begun && !dull.has(index) && matters(calls[index - 1]));
  return { ...result, calls: matter, effects: matter.filter((index) => hasEffect(calls[index - 1])) };
}

/** `counts` is called where the calls begin that faults are to meet, if that is not the first. */
type Telling = (life: Script, anotherComes: () => void, counts: () => void) => Promise<void>;

export const stories = {
  /** Runs reuse what others have computed. */
  reuses: async (life, anotherComes, counts) => {
    await computeFirst(life);
    counts();
    await reuseParts(life, anotherComes);
  },
  /** A run stops before its last chunk. */
  stops: stopEarly,
  schedules: liveBySchedule,
  /** Requests wait for runs, and lead them. */
  awaited: beAwaited,
} satisfies Readonly<Record<string, Telling>>;

/** Runs of the schedule `C` outlast it. */
const chunkMs = (_chunk: number, _random: unknown, run: string): number =>
  run.startsWith("C-") ? 20_000 : 100;

async function liveThrough(life: Script, anotherComes: () => void): Promise<void> {
  const { run, broken, until, untilEnded, must } = life;
  broken.chunks.add(5);
  const request = { id: "r", chunks: 13, packSize: 2, cap: 4, tolerate: { chunks: 2 } } as const;
  burnNext(life, "compute", 1);
  await life.submit(request);
  // Late enough that the first of its kind has begun, or has met its fault.
  await life.world.until(() => run()?.state !== undefined, 3_000);
  anotherComes();
  await until("a pack is done", () => (run()?.parts.size ?? 0) > 0);
  await life.tell("pause");
  await until("the leader has seen the pause", () => run()?.state?.paused === true);
  await life.tell("resume");
  await untilEnded(1);
  must(run()?.manifests.get(1)?.folded === 12, "chunk 5 is the gap of the first generation");
  broken.chunks.clear();
  await life.tell("retry");
  await untilEnded(2);
  must(run()?.manifests.get(2)?.complete === true, "the retry has no gap");
  const old = run()?.uid;
  await life.tell("delete");
  await until("the run is deleted", () => run() === undefined);
  await life.submit({ ...request, chunks: 5 });
  await untilEnded(1);
  must(run()?.uid !== old && run()?.manifests.get(1)?.complete === true, "the second run is complete");
}

/** A chunk fails and is tolerated, the run stops, through a pause; its retry mends the gap and stops one prefix earlier. */
async function stopEarly(life: Script, anotherComes: () => void): Promise<void> {
  const { run, broken, until, untilEnded, must } = life;
  broken.chunks.add(2);
  burnNext(life, "combine", 1);
  await life.submit({ id: "r", chunks: 20, cap: 4, tolerate: { chunks: 2 }, stopAt: 4 });
  await life.world.until(() => run()?.state !== undefined, 3_000);
  anotherComes();
  await until("it has been asked", () => Object.keys(run()?.state?.groups ?? {}).length > 1);
  await life.tell("pause").catch(() => undefined);
  await life.tell("resume").catch(() => undefined);
  await untilEnded(1);
  must(run()?.manifests.get(1)?.chunks === 6, "it stops after six chunks");
  broken.chunks.clear();
  await life.tell("retry");
  await untilEnded(2);
  must(run()?.manifests.get(2)?.chunks === 4, "without a gap it stops after four");
}

/** Requests wait for a run and for another under its id, and lead what no leader has seen. */
async function beAwaited(life: Script, anotherComes: () => void): Promise<void> {
  const { engine, run, broken, until, untilEnded, must } = life;
  const wait = (): void => void engine.instances[0]?.waitFor("r", 8_000);
  broken.chunks.add(5);
  const request = { id: "r", chunks: 13, packSize: 2, cap: 4, tolerate: { chunks: 2 } } as const;
  await life.submit(request);
  wait();
  await life.world.until(() => run()?.state !== undefined, 3_000);
  anotherComes();
  await untilEnded(1);
  must(run()?.manifests.get(1)?.folded === 12, "chunk 5 is the gap");
  broken.chunks.clear();
  const old = run()?.uid;
  await life.tell("delete");
  await until("the run is deleted", () => run() === undefined);
  await life.submit({ ...request, chunks: 5 });
  wait();
  await untilEnded(1);
  must(run()?.uid !== old && run()?.manifests.get(1)?.complete === true, "the second run is complete");
}

const files = { chunks: 13, packSize: 2, list: true } as const;

/** What other runs reuse. Its own life is that of any run. */
async function computeFirst(life: Script): Promise<void> {
  life.broken.fileOf = () => "same";
  await life.submit({ ...files, id: "a", keepPartials: true });
  await life.untilEnded(1, "a");
}

/** A run copies all packs but one, through a pause; another copies packs of both, and has a gap that its retry mends. */
async function reuseParts(life: Script, anotherComes: () => void): Promise<void> {
  const { run, broken, until, untilEnded, must } = life;
  broken.fileOf = (chunk) => (chunk === 4 ? "new" : "same");
  await life.submit({ ...files, id: "b", reuse: "a" });
  await life.world.until(() => run("b")?.state !== undefined, 3_000);
  anotherComes();
  await until("it is planned", () => run("b")?.state?.layout !== undefined);
  await life.tell("pause", "b").catch(() => undefined);
  await life.tell("resume", "b").catch(() => undefined);
  await untilEnded(1, "b");
  must(run("b")?.copied.size === 6, "six packs are copied");
  broken.fileOf = (chunk) => (chunk === 4 || chunk === 12 ? "new" : "same");
  broken.chunks.add(12);
  await life.submit({ ...files, id: "c", reuse: "b", tolerate: { chunks: 1 } });
  await untilEnded(1, "c");
  broken.chunks.clear();
  await life.tell("retry", "c");
  await untilEnded(2, "c");
  must(run("c")?.copied.size === 6, "six packs of two runs are copied");
}

/** The election's own calls are enumerated by its own simulation. */
function matters(call: FarCall | undefined): boolean {
  if (call === undefined || call.op.startsWith("lease.")) return false;
  const [place] = call.args;
  const heartbeat = call.op === "queues.update" && place === names.wake;
  const poll = call.op === "queues.receive" && place === names.wake;
  return !heartbeat && !poll;
}

const effects = /\.(create|replace|upload|setMetadata|remove|removeMany|send)$/;
const hasEffect = (call: FarCall | undefined): boolean => call !== undefined && effects.test(call.op);

/** Notes each receive that brought nothing: a fault there is a fault at the call before or after it. */
function noticeEmpty(storage: Storage, callsSoFar: () => number, empty: Set<number>): Storage {
  const { queues } = storage;
  const receive: QueueStore["receive"] = async (queue, options) => {
    const reply = queues.receive(queue, options);
    const call = callsSoFar();
    const messages = await reply;
    if (messages.length === 0) empty.add(call);
    return messages;
  };
  const get = (target: QueueStore, key: string | symbol) =>
    key === "receive" ? receive : (Reflect.get(target, key) as unknown);
  return { ...storage, queues: new Proxy(queues, { get }) };
}
