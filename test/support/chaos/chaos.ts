import { setTimeout as sleep } from "node:timers/promises";
import type { Client } from "../../../src/engine/client/client.ts";
import { addSchedule, deleteSchedule } from "../../../src/engine/client/schedules/changeSchedule.ts";
import { chainFile } from "../chain.ts";
import { disturb } from "./disturb.ts";
import { type Fleet, startFleet } from "./fleet.ts";
import { type Held, heldBy } from "./growth.ts";
import { type Evidence, type Verdict, verdictOf } from "./judge.ts";
import { judgeLeftovers, walkStorage } from "./leftovers.ts";
import { type ChaosPlan, describeEvent, planChaos } from "./plan.ts";
import { type EndedRun, persist, playRun, scheduledRuns } from "./runs.ts";
import { type Shape, scheduled, shapes } from "./shapes.ts";

/** Defects that are put in, so that everybody can see each check fail. */
export const defects = ["bytes", "stuck", "left", "grows"] as const;
type Defect = (typeof defects)[number];

interface ChaosOptions {
  readonly seconds: number;
  readonly seed: number;
  readonly instances?: number;
  /** Folder of an older build that works beside this one. */
  readonly older?: string | undefined;
  readonly defect?: Defect | undefined;
  /** Waits until the messages in the hands of dead processes have come back: ten minutes after the last death. */
  readonly drain?: boolean;
  say(line: string): void;
}

/**
 * How long a run may take beyond what it takes undisturbed. Where even that takes long the machine is busy, and processes start
 * as slowly.
 */
const beyondMsMax = (calmMs: number): number => Math.max(60_000, 1.5 * calmMs);

/**
 * Real instances and runs of several shapes, undisturbed at first and then under the faults of a plan; what they gave, how
 * long it took, what is left and what grew. Ends everything that it started.
 */
export async function playChaos(options: ChaosOptions): Promise<Verdict> {
  const { seed, seconds, instances: count = 4, older, defect, say } = options;
  const plan = planChaos(seed, seconds);
  say(`  seed ${seed}: ${plan.events.length} events in ${seconds} s`);
  for (const event of plan.events) say(describeEvent(event));
  const env = defect === "grows" ? { LEASEFOLD_TEST_LEAK: "1" } : {};
  const fleet = await startFleet({ count, calculations: [chainFile], env, older });
  try {
    return verdictOf(await evidence(fleet, plan, options));
  } finally {
    await fleet.stop();
  }
}

/**
 * Of the undisturbed rounds, which nobody has timed yet. On a machine with a load of 40, where a heartbeat of the leader often takes
 * more than its 0.9 s, no term lasts, and a round has taken five minutes.
 */
const calmMsMax = 240_000;

async function evidence(fleet: Fleet, plan: ChaosPlan, options: ChaosOptions): Promise<Evidence> {
  const { defect, say } = options;
  const limitMs = ({ name }: Shape): number => {
    const undisturbedMs = calmMs.get(name) ?? calmMsMax;
    return undisturbedMs + beyondMsMax(undisturbedMs);
  };
  const calmMs = new Map<string, number>();
  const calm: EndedRun[] = [];
  // The first round starts threads and compiles code.
  for (let round = 0; round < 2; round += 1)
    calm.push(
      ...(await Promise.all(
        [...shapes, scheduled].map((one) => playRun(fleet, one, `calm-${round}`, limitMs(one))),
      )),
    );
  for (const { shape, ms } of calm) calmMs.set(shape, Math.max(ms, calmMs.get(shape) ?? 0));
  say(`  undisturbed: ${[...calmMs].map(([name, ms]) => `${name} ${(ms / 1_000).toFixed(1)} s`).join(", ")}`);

  const ended = new AbortController();
  const began = performance.now();
  const held: Held[] = [];
  const watching = watch(fleet, began, held, ended.signal);
  const fromMs = Date.now();
  await persist(() => addSchedule(fleet.far, everyMinute));
  const disturbing = disturb(fleet, plan, defect === "stuck", say);
  const runs: EndedRun[] = [];
  const lead = async (shape: Shape): Promise<void> => {
    for (let nth = 0; performance.now() - began < 1_000 * plan.seconds; nth += 1)
      runs.push(await playRun(fleet, changed(shape, defect), `chaos-${nth}`, limitMs(shape)));
  };
  await Promise.all(shapes.map(lead));
  const way = await disturbing;
  await persist(() => deleteSchedule(fleet.far, everyMinute.name));
  const clock = { name: everyMinute.name, fromMs, toMs: Date.now() };
  runs.push(...(await scheduledRuns(fleet, clock, limitMs(scheduled))));
  say(
    `  ${runs.length} runs, ${fleet.deaths()} deaths, ${way.faults} faults on the way of ${way.requests} requests`,
  );
  const { direct } = fleet;
  if (defect === "left") await leaveThings(direct, runs[0]?.id ?? "");
  const complete = new Set([...calm, ...runs].flatMap((run) => (run.complete ? run.id : [])));
  const left = await settled(fleet, complete, options.drain === true);
  ended.abort();
  await watching;
  return { calm, calmMs, runs, left, held, inHand: way.lostReceives + handsOf * fleet.deaths() };
}

async function leaveThings({ storage, names }: Client, run: string): Promise<void> {
  await storage.blobs.create(names.runs, `${run}/uid/scratch`, "");
  for (let sent = 0; sent < leftMessages; sent += 1)
    await storage.queues.send(names.packs, "{}", { visibleInS: 3_600 });
}

/** More than dead processes could have had. */
const leftMessages = 300;

/** Messages that an instance of one thread has at most: two of each queue of work, and a wake. */
const handsOf = 5;

/** A chunk more or less is a wrong answer. */
const changed = (shape: Shape, defect: Defect | undefined): Shape =>
  defect === "bytes" && shape.name === "paused"
    ? { ...shape, request: { ...shape.request, params: { chunks: 23, ms: 100 } } }
    : shape;

const { id: _id, reuse: _reuse, ...runOfSchedule } = scheduled.request;
const everyMinute = {
  ...({ name: "by-the-clock", cron: "* * * * *", overlap: "allow" } as const),
  run: runOfSchedule,
};

/** What the first instance holds, which is stopped and blocked like all others and never killed. */
async function watch(fleet: Fleet, began: number, held: Held[], signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const pid = fleet.instances[0]?.pid;
    if (pid !== undefined) held.push(heldBy(pid, (performance.now() - began) / 1_000));
    await sleep(1_000, undefined, { signal }).catch(() => undefined);
  }
}

const settleMs = 45_000;
const drainMs = 660_000;

/** Looks until nothing is left that should not be, or it has been long enough. */
async function settled({ direct }: Fleet, complete: ReadonlySet<string>, drain: boolean) {
  const endMs = performance.now() + (drain ? drainMs : settleMs);
  for (;;) {
    const left = judgeLeftovers(await walkStorage(direct), complete);
    const { undocumented, uncleaned, hidden, visible } = left;
    const waits = undocumented.length + uncleaned.length + visible + (drain ? hidden : 0);
    if (waits === 0 || performance.now() > endMs) return left;
    await sleep(1_000);
  }
}
