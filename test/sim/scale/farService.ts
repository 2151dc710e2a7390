import { addCalls, billingClasses, type CallCounts, noCalls } from "../../../src/engine/model/calls.ts";
import { type CallMeter, callMeter } from "../../../src/engine/storage/calls.ts";
import type { Clock, Random, Storage } from "../../../src/engine/storage/ports.ts";
import { storageErrorOfCode } from "../../../src/engine/storage/storageErrors.ts";
import { callLatencyMs } from "./callLatency.ts";
import type { Throttle } from "./serviceLimits.ts";

/**
 * The in-memory storage as one process sees the real service: each call takes time, is counted by billing class, may be
 * refused by a limit, and is then repeated as the SDK does (`connectStorage.ts`): at once, after 0.4 s and after
 * 1.2 s; lease calls never. Refused tries are not among the counts.
 *
 * Not promised: that the time passes partly before and partly after a call's effect; here all of it passes before,
 * which saves half of the timers.
 */
export interface FarStorage extends Storage {
  readonly meter: CallMeter;
}

export interface Way {
  readonly near: Storage;
  readonly clock: Clock;
  readonly random: Random;
  readonly throttle: Throttle;
  /** Default `callLatencyMs`. */
  readonly latencyMs?: ((random: Random) => number) | undefined;
  /** Told of each call as the process makes it. */
  readonly onCall?: (call: Call) => void;
  /** Told of each call that the service has answered. */
  readonly onAnswer?: (call: Call & { readonly reply: unknown }) => void;
}

export interface Call {
  readonly part: Part;
  readonly method: string;
  readonly args: readonly unknown[];
}

type Part = "blobs" | "queues" | "lease";
type Counted = <T>(call: () => T) => T;

export function farService(way: Way): FarStorage {
  const meter = callMeter();
  const { near } = way;
  /** In-memory storage counts a call as it is made, so what its meter gained by then is what this process called. */
  const counted = <T>(call: () => T): T => {
    const before = near.meter.counts();
    const answer = call();
    const after = near.meter.counts();
    for (const one of billingClasses) for (let at = before[one]; at < after[one]; at += 1) meter.count(one);
    return answer;
  };
  return {
    blobs: far(way, counted, "blobs", near.blobs),
    queues: far(way, counted, "queues", near.queues),
    lease: (container, blob) =>
      far(way, counted, "lease", near.lease(container, blob), `${container}/${blob}`),
    meter,
  };
}

const repeatAfterMs = [0, 400, 1_200];

function far<T extends object>(way: Way, counted: Counted, part: Part, target: T, blob?: string): T {
  const { clock, random, throttle, latencyMs = callLatencyMs, onCall, onAnswer } = way;
  const methods = Object.entries(target) as [string, (...args: unknown[]) => Promise<unknown>][];
  const wrap =
    (method: string, near: (...args: unknown[]) => Promise<unknown>) =>
    async (...args: unknown[]): Promise<unknown> => {
      const call = { part, method, args };
      onCall?.(call);
      const demand = {
        queue: part === "queues" ? (args[0] as string) : undefined,
        blob: blob ?? (part === "blobs" && !isList.has(method) ? `${args[0]}/${args[1]}` : undefined),
        isPut: method === "send",
      };
      for (let tries = 0; ; tries += 1) {
        await clock.sleep(latencyMs(random));
        const limit = throttle.refusal(demand, clock.monotonicMs());
        if (limit === undefined) break;
        const waitMs = part === "lease" ? undefined : repeatAfterMs[tries];
        if (waitMs === undefined) throw storageErrorOfCode("memory", "ServerBusy", 503, `${limit} limit`);
        if (waitMs > 0) await clock.sleep(waitMs);
      }
      const reply = await counted(() => near.apply(target, args));
      onAnswer?.({ ...call, reply });
      return reply;
    };
  return Object.fromEntries(methods.map(([method, near]) => [method, wrap(method, near)])) as T;
}

const isList = new Set(["list", "listFolders", "removeMany", "ensureContainer"]);

/** What several processes have called together. */
export const callsOf = (storages: readonly { readonly meter: CallMeter }[]): CallCounts =>
  storages.reduce((sum, { meter }) => addCalls(sum, meter.counts()), noCalls);
