import type { Clock } from "../../src/engine/storage/ports.ts";
import type { TimerStore } from "../../src/host/timerTrigger.ts";

/** Length of the lease by which one instance has the timer, renewed at half of it (azure-webjobs-sdk, SingletonOptions). */
const timerLeaseMs = 60_000;

/**
 * One timer of one app as Azure keeps it: a lease that one instance holds, and when the timer is due. Gives the store that
 * an instance sees, by the clock of its process: where that stands still, the lease runs out. `onTake` is told each time.
 */
export function platformTimer(service: Clock, onTake: () => void = () => {}): (own: Clock) => TimerStore {
  let holder: object | undefined;
  let untilMs = 0;
  let dueMs: number | undefined;
  return (own) => {
    const me = {};
    const renew = (): void => {
      if (holder !== me) return;
      untilMs = service.wallMs() + timerLeaseMs;
      own.after(timerLeaseMs / 2, renew);
    };
    return {
      async take() {
        if (holder !== undefined && holder !== me && service.wallMs() < untilMs) return false;
        holder = me;
        onTake();
        renew();
        return true;
      },
      async release() {
        if (holder === me) holder = undefined;
      },
      due: async () => dueMs,
      async setDue(ms) {
        dueMs = ms;
      },
    };
  };
}
