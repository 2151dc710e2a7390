/**
 * Gives out the places of a pool: urgent callers first, each kind in order of arrival.
 *
 * It stands before Piscina's own queue because Piscina (5.3) keeps tasks that can be aborted, which ours all are,
 * in a list of its own that a custom `taskQueue` never sees and that does not even keep their order.
 */
export interface Places {
  /** Resolves when a place is free; each must be left again. Rejects once the places are closed. */
  take(urgent: boolean): Promise<void>;
  leave(): void;
  /** Refuses everybody who waits or comes later. */
  close(reason: Error): void;
}

interface Waiter {
  readonly admit: () => void;
  readonly refuse: (reason: Error) => void;
}

export function urgentFirst(places: number): Places {
  const urgentLane: Waiter[] = [];
  const otherLane: Waiter[] = [];
  let free = places;
  let closed: Error | undefined;
  return {
    take(urgent) {
      if (closed !== undefined) return Promise.reject(closed);
      if (free > 0) {
        free -= 1;
        return Promise.resolve();
      }
      const lane = urgent ? urgentLane : otherLane;
      return new Promise((admit, refuse) => lane.push({ admit, refuse }));
    },
    leave() {
      // A place that somebody waits for goes straight to them, so that nobody slips in between.
      const next = urgentLane.shift() ?? otherLane.shift();
      if (next === undefined) free += 1;
      else next.admit();
    },
    close(reason) {
      closed = reason;
      for (const waiter of [...urgentLane.splice(0), ...otherLane.splice(0)]) waiter.refuse(reason);
    },
  };
}
