import type { BillingClass } from "../../model/calls.ts";
import { storageErrorOfCode } from "../azure/storageErrors.ts";
import type { CallMeter, CallOptions, Clock, Random } from "../ports.ts";
import { throwIfAborted } from "../system.ts";

/** What the parts of one in-memory account share: its clock, its randomness, its meter and a counter for tags. */
export interface MemoryService {
  readonly meter: CallMeter;
  readonly random: Random;
  /** The exact time, which decides on leases and visibility. */
  nowMs(): number;
  /** The time as the service reports it: HTTP dates carry whole seconds. */
  dateMs(): number;
  /** A tag never given out before: for ETags and pop receipts. */
  nextTag(): string;
  /** Ends a call that is already cancelled, before any effect; counts any other. */
  begin(billingClass: BillingClass, options: CallOptions | undefined): void;
}

export function memoryService(clock: Clock, random: Random, meter: CallMeter): MemoryService {
  let tags = 0;
  return {
    meter,
    random,
    nowMs: () => clock.wallMs(),
    dateMs: () => wholeSeconds(clock.wallMs()),
    nextTag: () => {
      tags += 1;
      return `0x8DE${tags.toString(16).toUpperCase().padStart(12, "0")}`;
    },
    begin: (billingClass, options) => {
      throwIfAborted(options?.signal);
      meter.count(billingClass);
    },
  };
}

export const wholeSeconds = (ms: number): number => Math.floor(ms / 1000) * 1000;

/** The error the real service's refusal would have become. */
export const refuse = (status: number, code: string, detail = "") =>
  storageErrorOfCode("memory", code, status, detail);

/** Containers and queues: 3 to 63 lower-case letters, digits and single dashes (Naming and Referencing Containers). */
export function checkResourceName(name: string): void {
  if (name.length < 3 || name.length > 63) throw refuse(400, "OutOfRangeInput", name);
  if (!/^[a-z0-9]+(-[a-z0-9]+)*$/.test(name)) throw refuse(400, "InvalidResourceName", name);
}
