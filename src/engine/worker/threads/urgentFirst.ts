/**
 * The slots of a pool: urgent callers first, each kind in order of arrival.
 *
 * It stands before Piscina's own queue because Piscina (5.3) keeps tasks that can be aborted, which ours all are, in a
 * list that a custom `taskQueue` never sees and that does not even keep their order.
 */
export function urgentFirst(slots: number) {
  const urgentLane: Waiter[] = [];
  const otherLane: Waiter[] = [];
  let free = slots;
  let closed: Error | undefined;

  /** Admits in order. Nobody overtakes a caller who waits for several slots. */
  function admit(): void {
    for (;;) {
      const lane = urgentLane.length > 0 ? urgentLane : otherLane;
      const [next] = lane;
      if (next === undefined || free < next.needs) return;
      lane.shift();
      free -= next.needs;
      next.admit();
    }
  }

  return {
    /**
     * Resolves when so many slots are free; all must be left again. Rejects once they are closed. A caller who has to wait is
     * given to `onWait`, which may change what becomes of it.
     */
    take(urgent: boolean, needs = 1, onWait: (waiter: Waiter) => void = () => {}): Promise<void> {
      if (closed !== undefined) return Promise.reject(closed);
      return new Promise((resolve, refuse) => {
        const lane = urgent ? urgentLane : otherLane;
        const waiter = { needs, admit: resolve, refuse };
        lane.push(waiter);
        admit();
        if (lane.at(-1) === waiter) onWait(waiter);
      });
    },
    leave(needs = 1): void {
      free += needs;
      admit();
    },
    /** Whether an urgent caller waits. */
    urgentWaits: (): boolean => urgentLane.length > 0,
    /** Rejects everybody who waits or comes later. */
    close(reason: Error): void {
      closed = reason;
      for (const waiter of [...urgentLane.splice(0), ...otherLane.splice(0)]) waiter.refuse(reason);
    },
  };
}

export interface Waiter {
  readonly needs: number;
  admit: () => void;
  refuse: (reason: Error) => void;
}
