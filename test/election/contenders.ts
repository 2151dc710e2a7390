import type { ElectionEvent } from "../../src/election/events.ts";
import type { Leadership } from "../../src/election/hold/leadership.ts";
import type { RaceOutcome, RaceRequest } from "../../src/election/raceContext.ts";
import type { LeaderRecord } from "../../src/election/record/record.ts";
import { type ElectionSettings, electionSettings } from "../../src/election/settings.ts";
import { type MemoryStorage, memoryStorage } from "../../src/engine/storage/memory/memoryStorage.ts";
import type { LeaseStore, LeaseView } from "../../src/engine/storage/ports.ts";
import { type LeadRequest, raceAndLead } from "../support/raceAndLead.ts";
import { recordIn } from "../support/recordIn.ts";
import { type VirtualClock, type VirtualWorld, virtualWorld } from "../support/virtualClock.ts";

export const container = "test-coordination";
export const blob = "leader";

/** One leader blob on in-memory storage, in virtual time, and as many contenders for it as a test asks for. */
export interface Arena {
  readonly world: VirtualWorld;
  readonly storage: MemoryStorage;
  /** Everyone who leads right now, by their own word. */
  readonly leading: Set<Leadership>;
  contender(holder: string): Contender;
  view(): Promise<LeaseView>;
  record(): Promise<LeaderRecord>;
}

interface Contender {
  readonly clock: VirtualClock;
  /** The kinds, in order; `log` has the events themselves. */
  readonly events: string[];
  readonly log: ElectionEvent[];
  /** Set while this contender's task runs. */
  leadership: Leadership | undefined;
  race(more?: Partial<RaceRequest> & { readonly work?: LeadRequest["lead"] }): Promise<RaceOutcome>;
}

export function contenders(
  options: {
    readonly seed?: number;
    readonly settings?: Partial<ElectionSettings>;
    /** More contenders for a blob that is there. */
    readonly on?: Arena;
    /** Stands between one contender and storage. */
    readonly between?: (lease: LeaseStore, holder: string, clock: VirtualClock) => LeaseStore;
  } = {},
): Arena {
  const world = options.on?.world ?? virtualWorld({ seed: options.seed ?? 1 });
  const storage = options.on?.storage ?? memoryStorage({ clock: world.clock(), random: world.random });
  const settings = electionSettings(options.settings);
  const leading = options.on?.leading ?? new Set<Leadership>();
  const view = async (): Promise<LeaseView> => {
    const seen = await storage.lease(container, blob).view();
    if (seen.kind === "missing") throw new Error("The leader blob is missing.");
    return seen;
  };
  return {
    world,
    storage,
    leading,
    view,
    record: async () => recordIn((await view()).metadata),
    contender(holder) {
      const clock = world.clock();
      const plain = storage.lease(container, blob);
      const log: ElectionEvent[] = [];
      const events: string[] = [];
      const contender: Contender = {
        clock,
        events,
        log,
        leadership: undefined,
        race({ work, ...more } = {}) {
          const lease = options.between?.(plain, holder, clock) ?? plain;
          const on = (event: ElectionEvent) => {
            log.push(event);
            events.push(event.kind);
          };
          return raceAndLead({ lease, clock, random: world.random, on }, settings, {
            holder,
            startedAtMonotonicMs: clock.monotonicMs(),
            worthLeading: async () => true,
            ...more,
            async lead(leadership) {
              contender.leadership = leadership;
              leading.add(leadership);
              try {
                await (work ?? untilTold)(leadership);
              } finally {
                leading.delete(leadership);
                contender.leadership = undefined;
              }
            },
          });
        },
      };
      return contender;
    },
  };
}

/** A task without an end of its own. */
const untilTold = (leadership: Leadership): Promise<void> =>
  new Promise((resolve) => leadership.signal.addEventListener("abort", () => resolve(), { once: true }));
