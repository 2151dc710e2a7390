import { StorageError } from "../../src/model/errors.ts";
import type { Random, Storage } from "../../src/storage/ports.ts";
import type { VirtualClock } from "./virtualClock.ts";

/** Faults of the way to storage, each as a probability per call. */
export interface Faults {
  /** The call never arrives. */
  readonly lostRequest?: number;
  /** The call is carried out, and the caller learns nothing of it. */
  readonly lostReply?: number;
}

/**
 * Puts a network between one simulated process and the storage twin: every call takes time on that process's clock
 * before and after, so a crash of the clock cuts it off at either side, and faults strike where real ones do.
 */
export function farStorage(
  near: Storage,
  clock: VirtualClock,
  random: Random,
  options: {
    readonly latencyMs: number;
    readonly faults: () => Faults;
    readonly onCall?: (name: string) => void;
  },
): Storage {
  const far = <T extends object>(target: T, part: string): T =>
    new Proxy(target, {
      get(object, key) {
        const member = Reflect.get(object, key) as unknown;
        if (typeof member !== "function") return member;
        return async (...args: unknown[]) => {
          options.onCall?.(`${part}.${String(key)}`);
          await clock.sleep(random.number() * options.latencyMs);
          if (random.number() < (options.faults().lostRequest ?? 0)) throw noAnswer();
          const reply: unknown = await (member as (...all: unknown[]) => unknown).apply(object, args);
          await clock.sleep(random.number() * options.latencyMs);
          if (random.number() < (options.faults().lostReply ?? 0)) throw noAnswer();
          return reply;
        };
      },
    });
  return {
    blobs: far(near.blobs, "blobs"),
    queues: far(near.queues, "queues"),
    lease: (container, blob) => far(near.lease(container, blob), "lease"),
    meter: near.meter,
  };
}

const noAnswer = () => new StorageError("busy", "", undefined, "no answer (simulated)");
