import { StorageError } from "../../../src/model/errors.ts";
import type { Clock, LeaseStore, Random } from "../../../src/storage/ports.ts";

/** How often things go wrong; all zero once faults have stopped. */
export interface Weather {
  /** Chance that a call is not an ordinary one. */
  trouble: number;
}

/** Carries one call to the service and its answer back. */
export type Carry = <T>(call: () => T | Promise<T>) => Promise<T>;

/**
 * The way between one process and storage. The request travels on the service's clock, since it is on its way
 * whatever becomes of its sender, and may arrive long after the sender gave up; the answer travels on the
 * process's own clock, so a stopped process does not hear it.
 */
export function network(there: Clock, here: Clock, random: Random, weather: Weather): Carry {
  const travelMs = (): number => 2 + random.number() * 30;
  return async (call) => {
    const fate = random.number() < weather.trouble ? pick(troubles, random) : "arrives";
    if (fate === "lost request") {
      await here.sleep(travelMs());
      throw noAnswer();
    }
    if (fate === "hangs") return new Promise<never>(() => {});
    await there.sleep(fate === "late" ? random.number() * 6_000 : travelMs());
    if (fate === "refused") {
      await here.sleep(travelMs());
      const [code, status] = pick(refusals, random);
      throw new StorageError("busy", code, status, code);
    }
    const answer = await attempt(call);
    if (fate === "hangs after") return new Promise<never>(() => {});
    await here.sleep(travelMs());
    if (fate === "lost reply") throw noAnswer();
    return answer();
  };
}

const troubles = ["lost request", "lost reply", "late", "refused", "hangs", "hangs after"] as const;
const refusals = [
  ["ServerBusy", 503],
  ["InternalError", 500],
  ["OperationTimedOut", 500],
  ["", 429],
] as const;

const pick = <T>(from: readonly T[], random: Random): T =>
  from[Math.floor(random.number() * from.length)] as T;

const noAnswer = () => new StorageError("busy", "", undefined, "The connection was reset.");

async function attempt<T>(call: () => T | Promise<T>): Promise<() => T> {
  try {
    const value = await call();
    return () => value;
  } catch (error) {
    return () => {
      throw error;
    };
  }
}

/** The signals stay here: aborting a request does not call it back. */
export const leaseOver = (carry: Carry, lease: LeaseStore): LeaseStore => ({
  ensure: () => carry(() => lease.ensure()),
  view: () => carry(() => lease.view()),
  acquire: (id, durationS) => carry(() => lease.acquire(id, durationS)),
  renew: (id) => carry(() => lease.renew(id)),
  release: (id) => carry(() => lease.release(id)),
  breakNow: (options) => carry(() => lease.breakNow(conditionOf(options))),
  writeRecord: (id, metadata, options) => carry(() => lease.writeRecord(id, metadata, conditionOf(options))),
});

const conditionOf = (options?: { readonly ifMatch?: string }) =>
  options?.ifMatch === undefined ? {} : { ifMatch: options.ifMatch };
