import type { Clock, Random } from "../../../src/storage/ports.ts";

/**
 * How many instances of a function the platform runs. `warm`: always so many. Else it scales with the queue:
 * wanted are as many as messages in the queue over what one instance runs at once, and none of what lies there is
 * counted while no message is visible; a decision adds only a few (functions-target-based-scaling), and there is one
 * every half minute for queue triggers (event-driven-scaling, "new instance rate"; learn.microsoft.com/azure/azure-functions).
 */
export interface Scaling {
  readonly warm?: number;
  /** Instances that are there from the start and never taken away, beside those that the queue asks for. */
  readonly alwaysReady?: number;
  readonly instancesMax: number;
  readonly decideEveryMs: number;
  readonly stepMax: number;
  /** From the decision until the instance takes its first message. */
  readonly coldStartMs: number;
}

export const azureScaling: Scaling = {
  instancesMax: 1_000,
  decideEveryMs: 30_000,
  stepMax: 4,
  coldStartMs: 4_000,
};

/** Instances after a decision. Pure. */
export function decideInstances(
  now: number,
  queue: { readonly messages: number; readonly visible: number },
  takesEach: number,
  scaling: Scaling,
): number {
  const length = queue.visible === 0 ? 0 : queue.messages;
  const wanted = Math.min(Math.ceil(length / takesEach), scaling.instancesMax);
  return wanted > now ? Math.min(wanted, now + scaling.stepMax) : wanted;
}

export interface Instance {
  readonly idle: () => boolean;
  /** Takes no further message; what it has begun goes on. */
  stop(): void;
}

export interface Fleet {
  /** Live instances times the time they lived, so far. */
  instanceMs(): number;
  readonly peak: () => number;
  stop(): void;
}

/** Keeps a fleet at what the platform decides. Only an idle instance is taken away. */
export function startFleet(
  { clock, random }: { readonly clock: Clock; readonly random: Random },
  scaling: Scaling,
  takesEach: number,
  look: () => Promise<{ readonly messages: number; readonly visible: number }>,
  start: () => Instance,
): Fleet {
  const live: { readonly instance: Instance; readonly sinceMs: number }[] = [];
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
  const removeIdle = (count: number): void => {
    for (let at = live.length - 1, left = count; at >= 0 && left > 0; at -= 1) {
      const one = live[at];
      if (one === undefined || !one.instance.idle()) continue;
      one.instance.stop();
      goneMs += clock.monotonicMs() - one.sinceMs;
      live.splice(at, 1);
      left -= 1;
    }
  };
  const scale = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      const queue = await look();
      const now = live.length + starting;
      const wanted = Math.max(alwaysReady, decideInstances(now, queue, takesEach, scaling));
      for (let more = now; more < wanted; more += 1)
        void add(scaling.coldStartMs * (0.75 + random.number() / 2));
      if (wanted < live.length) removeIdle(live.length - wanted);
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
    instanceMs: () => goneMs + live.reduce((sum, { sinceMs }) => sum + clock.monotonicMs() - sinceMs, 0),
    peak: () => peak,
    stop() {
      stopping.abort();
      for (const { instance } of live) instance.stop();
    },
  };
}
