import { AsyncLocalStorage } from "node:async_hooks";
import { addCalls, type BillingClass, type CallCounts, noCalls } from "../model/calls.ts";

/** Limits one call: when the signal fires, the call ends with an AbortError and its effect is unknown. */
export interface CallOptions {
  readonly signal?: AbortSignal | undefined;
}

/** The run for which calls are made, as its uid; undefined for nobody. */
const present = new AsyncLocalStorage<string | undefined>();

/** The calls that `work` makes, and all that it starts, are counted for this run. */
export const callsFor = <T>(uid: string | undefined, work: () => T): T => present.run(uid, work);

/** Its uid. */
export const presentRun = (): string | undefined => present.getStore();

/** Counts calls by billing class; every request that reaches the service counts, failed ones too. */
export interface CallMeter {
  /** The counts so far, of all runs. */
  counts(): CallCounts;
  count(billingClass: BillingClass): void;
  /** Takes what was counted for the present run, and for nobody, since it was last taken. */
  take(): CallCounts;
}

/** Of a run that has ended some calls come after its last output. */
const runsKept = 100;

/** Begins at zero. */
export function callMeter(): CallMeter {
  const counts = { ...noCalls };
  const untaken = new Map<string | undefined, Record<BillingClass, number>>();
  const countsOf = (uid: string | undefined): Record<BillingClass, number> => {
    const known = untaken.get(uid) ?? { ...noCalls };
    untaken.set(uid, known);
    return known;
  };
  const takeOf = (uid: string | undefined): CallCounts => {
    const taken = untaken.get(uid) ?? noCalls;
    untaken.delete(uid);
    return taken;
  };
  return {
    counts: () => ({ ...counts }),
    count(billingClass) {
      counts[billingClass] += 1;
      countsOf(presentRun())[billingClass] += 1;
      if (untaken.size <= runsKept) return;
      const oldest = [...untaken.keys()].find((uid) => uid !== undefined);
      untaken.set(undefined, addCalls(takeOf(undefined), takeOf(oldest)));
    },
    take() {
      const uid = presentRun();
      return uid === undefined ? takeOf(uid) : addCalls(takeOf(uid), takeOf(undefined));
    },
  };
}
