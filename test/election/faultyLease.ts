import { StorageError } from "../../src/engine/model/errors.ts";
import type { LeaseStore } from "../../src/engine/storage/ports.ts";
import { recordIn } from "../support/recordIn.ts";

export type LeaseOp =
  | "ensure"
  | "view"
  | "acquire"
  | "renew"
  | "release"
  | "breakNow"
  | "write leading"
  | "write ended";

/**
 * `lost request`: no effect, no answer. `lost reply`: the effect, no answer. `hang`: no effect and no end, whatever
 * the signal says. `hang after`: the effect, and no end. Anything else is a code that storage refuses with.
 */
export type Fault =
  | "none"
  | "lost request"
  | "lost reply"
  | "hang"
  | "hang after"
  | { readonly code: string };

/** Stands before a lease store and does to the n-th call of each kind (from 1) what the test says. */
export function faultyLease(
  lease: LeaseStore,
  faultOf: (op: LeaseOp, nth: number) => Fault,
  seen?: (op: LeaseOp) => void,
): LeaseStore {
  const counts = new Map<LeaseOp, number>();
  const through = async <T>(op: LeaseOp, call: () => Promise<T>): Promise<T> => {
    const nth = (counts.get(op) ?? 0) + 1;
    counts.set(op, nth);
    seen?.(op);
    const fault = faultOf(op, nth);
    if (fault === "lost request") throw noAnswer();
    if (fault === "hang") return new Promise<never>(() => {});
    if (typeof fault === "object") throw new StorageError("refused", fault.code, 409, fault.code);
    const value = await call();
    if (fault === "lost reply") throw noAnswer();
    if (fault === "hang after") return new Promise<never>(() => {});
    return value;
  };
  return {
    ensure: (options) => through("ensure", () => lease.ensure(options)),
    view: (options) => through("view", () => lease.view(options)),
    acquire: (id, durationS, options) => through("acquire", () => lease.acquire(id, durationS, options)),
    renew: (id, options) => through("renew", () => lease.renew(id, options)),
    release: (id, options) => through("release", () => lease.release(id, options)),
    breakNow: (options) => through("breakNow", () => lease.breakNow(options)),
    writeRecord: (id, metadata, options) =>
      through(`write ${recordIn(metadata).state}`, () => lease.writeRecord(id, metadata, options)),
  };
}

export const noAnswer = () => new StorageError("busy", "", undefined, "The connection was reset.");
