import type { ElectionPorts } from "../../src/election/api/electionPorts.ts";
import { type MemoryStorage, memoryStorage } from "../../src/engine/storage/memory/memoryStorage.ts";
import type { ContentLease } from "../../src/engine/storage/ports.ts";
import { type VirtualClock, type VirtualWorld, virtualWorld } from "../support/virtualClock.ts";

export const container = "test-coordination";

/** One account on in-memory storage, in virtual time, and as many processes with the public API as a test asks for. */
export interface Alone {
  readonly world: VirtualWorld;
  readonly storage: MemoryStorage;
  /** `between` stands between this process and its leases. */
  process(between?: (lease: ContentLease, clock: VirtualClock) => ContentLease): AloneProcess;
}

interface AloneProcess extends ElectionPorts {
  readonly clock: VirtualClock;
}

export function alone(seed = 1): Alone {
  const world = virtualWorld({ seed });
  const storage = memoryStorage({ clock: world.clock(), random: world.random });
  return {
    world,
    storage,
    process(between = (lease) => lease) {
      const clock = world.clock();
      return {
        container,
        blobs: storage.blobs,
        lease: (blob) => between(storage.lease(container, blob), clock),
        clock,
        random: world.random,
      };
    },
  };
}

/** A task without an end of its own. */
export const untilTold = ({ signal }: { readonly signal: AbortSignal }): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
