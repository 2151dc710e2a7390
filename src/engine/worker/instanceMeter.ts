import { addUse, type InstanceUse, noUse } from "../model/instanceUse.ts";
import { flexBilling } from "../model/prices.ts";
import { presentRun } from "../storage/calls.ts";
import type { Clock } from "../storage/ports.ts";
import { setLatest } from "./setLatest.ts";

/**
 * Counts what the runs whose messages this process handles use of its instance, as Flex Consumption bills it: while anything
 * executes, at least a second, in steps of 100 ms. Executions at the same time share the instance, each moment in equal parts.
 *
 * Not promised: what Azure bills. No moment is counted twice, though nobody documents whether executions that follow within a
 * billed second begin another one. What comes after the last output of a run is not reported.
 */
export interface InstanceMeter {
  /** Does one delivery of a message of a run. */
  during<T>(uid: string, work: () => Promise<T>): Promise<T>;
  /** Takes what was counted for the present run since it was last taken. */
  take(): InstanceUse;
}

/** Runs whose use nobody has taken. */
const runsKept = 100;

export function instanceMeter(clock: Pick<Clock, "monotonicMs">, memoryMb: number): InstanceMeter {
  const executing = new Map<symbol, string>();
  const untaken = new Map<string, InstanceUse>();
  let billedToMs = Number.NEGATIVE_INFINITY;
  const add = (uid: string, use: InstanceUse): void =>
    setLatest(untaken, uid, addUse(untaken.get(uid), use), runsKept);
  const bill = (ms: number): void => {
    billedToMs += ms;
    const mbMs = Math.round((ms * memoryMb) / executing.size);
    for (const uid of executing.values()) add(uid, { mbMs, executions: 0 });
  };
  /** Bills the time until now. */
  const advance = (): void => {
    const { stepMs } = flexBilling;
    const steps = Math.ceil((clock.monotonicMs() - billedToMs) / stepMs);
    if (executing.size > 0 && steps > 0) bill(steps * stepMs);
  };
  return {
    async during(uid, work) {
      advance();
      const execution = Symbol();
      const idle = executing.size === 0;
      executing.set(execution, uid);
      add(uid, { mbMs: 0, executions: 1 });
      const nowMs = clock.monotonicMs();
      if (idle && nowMs >= billedToMs) {
        billedToMs = nowMs;
        bill(flexBilling.leastMs);
      }
      try {
        return await work();
      } finally {
        advance();
        executing.delete(execution);
      }
    },
    take() {
      advance();
      const uid = presentRun() ?? "";
      const use = untaken.get(uid) ?? noUse;
      untaken.delete(uid);
      return use;
    },
  };
}
