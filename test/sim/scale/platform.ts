import type { Clock, Random } from "../../../src/engine/storage/ports.ts";

/**
 * How many instances of a function the platform runs. `warm`: always so many. Else it scales with the queue:
 * wanted are as many as messages in the queue over what one instance runs at once, and none of what lies there is
 * counted while no message is visible; a decision adds only a few (functions-target-based-scaling), and there is one
 * every half minute for queue triggers (event-driven-scaling, "new instance rate"; learn.microsoft.com/azure/azure-functions).
 *
 * What one instance runs at once is batchSize + newBatchThreshold since Storage.Queues 5.3.1 (Azure/azure-sdk-for-net#44661,
 * QueueTargetScaler), which the extension bundle of host.json has; the page above still says batchSize alone, as it was
 * before. `dividesBy` tries the other.
 */
export interface Scaling {
  readonly warm?: number;
  /** Instances that are there from the start and never taken away, beside those that the queue asks for. */
  readonly alwaysReady?: number;
  readonly instancesMax: number;
  readonly decideEveryMs: number;
  /** Instances that there are at most after a decision, by those before it. */
  readonly grown: (now: number) => number;
  /** From the decision until the instance takes its first message. */
  readonly coldStartMs: number;
  /** Messages of one instance in the decision, where they are not as many as it runs at once. */
  readonly dividesBy?: number;
  /** Whether messages that somebody has count, also while none is visible. */
  readonly countsHidden?: true;
}

export const azureScaling: Scaling = {
  instancesMax: 1_000,
  decideEveryMs: 30_000,
  grown: (now) => now + 4,
  coldStartMs: 4_000,
};

/**
 * Container Apps with the rules of infra/modules/containerWorkers.bicep: a poll each half minute, steps of 1, 4 and then as many
 * again (learn.microsoft.com/azure/container-apps/scale-app). KEDA's scaler of storage queues counts all messages by default
 * (keda.sh/docs/scalers/azure-storage-queue). No source says how long a replica takes to start: 20 s are assumed.
 */
export const containerScaling: Scaling = {
  instancesMax: 1_000,
  decideEveryMs: 30_000,
  grown: (now) => (now < 1 ? 1 : now < 4 ? 4 : 2 * now),
  coldStartMs: 20_000,
  dividesBy: 1,
  countsHidden: true,
};

/** Seconds from the first decision until so many instances run, while there is work for all. Pure. */
export function secondsTo(instances: number, scaling: Scaling): number {
  const work = { messages: Number.MAX_SAFE_INTEGER, visible: Number.MAX_SAFE_INTEGER };
  let decisions = 0;
  for (let now = 0; now < instances; decisions += 1) now = decideInstances(now, work, 1, scaling);
  return ((decisions - 1) * scaling.decideEveryMs + scaling.coldStartMs) / 1_000;
}

/** Instances after a decision. Pure. */
export function decideInstances(
  now: number,
  queue: { readonly messages: number; readonly visible: number },
  takesEach: number,
  scaling: Scaling,
): number {
  const length = queue.visible === 0 && scaling.countsHidden !== true ? 0 : queue.messages;
  const wanted = Math.min(Math.ceil(length / takesEach), scaling.instancesMax);
  return wanted > now ? Math.min(wanted, scaling.grown(now)) : wanted;
}

export interface Instance {
  readonly idle: () => boolean;
  /** Drained: it takes no further message; what it has begun goes on. */
  stop(): void;
}

export interface Fleet {
  /** Live instances times the time they lived, so far. */
  instanceMs(): number;
  readonly peak: () => number;
  stop(): void;
}

/**
 * Keeps a fleet at what the platform decides. Instances that are too many are drained, idle ones first: they take nothing
 * more, and are gone when what they have begun has ended. Azure drains busy ones as well, since it counts visible messages
 * only (Azure/azure-functions-host#11890, #12007).
 */
export function startFleet(
  { clock, random }: { readonly clock: Clock; readonly random: Random },
  scaling: Scaling,
  takesEach: number,
  look: () => Promise<{ readonly messages: number; readonly visible: number }>,
  start: () => Instance,
): Fleet {
  interface Life {
    readonly instance: Instance;
    readonly sinceMs: number;
  }
  const live: Life[] = [];
  let drained: Life[] = [];
  const stopping = new AbortController();
  const { alwaysReady = 0 } = scaling;
  let starting = 0;
  let goneMs = 0;
  let peak = 0;

  const add = async (afterMs: number): Promise<void> => {
    starting += 1;
    await clock.sleep(afterMs, stopping.signal);
    starting -= 1;
    if (stopping.signal.aborted) return;
    live.push({ instance: start(), sinceMs: clock.monotonicMs() });
    peak = Math.max(peak, live.length);
  };
  const drain = (count: number): void => {
    const busyLast = [...live].sort((a, b) => Number(b.instance.idle()) - Number(a.instance.idle()));
    for (const one of busyLast.slice(0, count)) {
      one.instance.stop();
      live.splice(live.indexOf(one), 1);
      drained.push(one);
    }
  };
  const lifeOf = ({ sinceMs }: Life): number => clock.monotonicMs() - sinceMs;
  const leave = (): void => {
    for (const one of drained.filter(({ instance }) => instance.idle())) goneMs += lifeOf(one);
    drained = drained.filter(({ instance }) => !instance.idle());
  };
  const scale = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      const queue = await look();
      leave();
      const now = live.length + starting;
      const each = scaling.dividesBy ?? takesEach;
      const wanted = Math.max(alwaysReady, decideInstances(now, queue, each, scaling));
      for (let more = now; more < wanted; more += 1)
        void add(scaling.coldStartMs * (0.75 + random.number() / 2));
      if (wanted < live.length) drain(live.length - wanted);
      leave();
      await clock.sleep(scaling.decideEveryMs, stopping.signal);
    }
  };
  // Warm instances poll from different moments on.
  if (scaling.warm !== undefined)
    for (let one = 0; one < scaling.warm; one += 1) void add(random.number() * 2_000);
  else {
    for (let one = 0; one < alwaysReady; one += 1) void add(random.number() * 2_000);
    void scale();
  }

  return {
    instanceMs: () => goneMs + [...live, ...drained].reduce((sum, one) => sum + lifeOf(one), 0),
    peak: () => peak,
    stop() {
      stopping.abort();
      for (const { instance } of live) instance.stop();
    },
  };
}
