/**
 * Gives out the places of a pool: urgent callers first, each kind in order of arrival.
 *
 * It stands before Piscina's own queue because Piscina (5.3) keeps tasks that can be aborted, which ours all are,
 * in a list of its own that a custom `taskQueue` never sees and that does not even keep their order.
 */
export interface Places {
  /** Resolves when a place is free, or with `alone` when all are; each must be left again. Rejects once they are closed. */
  take(urgent: boolean, alone?: boolean): Promise<void>;
  leave(alone?: boolean): void;
  /** Refuses everybody who waits or comes later. */
  close(reason: Error): void;
}

interface Waiter {
  readonly needs: number;
  readonly admit: () => void;
  readonly refuse: (reason: Error) => void;
}

export function urgentFirst(places: number): Places {
  const urgentLane: Waiter[] = [];
  const otherLane: Waiter[] = [];
  const needed = (alone: boolean): number => (alone ? places : 1);
  let free = places;
  let closed: Error | undefined;

  /** Admits in order. Nobody slips in before one who waits for all places. */
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
    take(urgent, alone = false) {
      if (closed !== undefined) return Promise.reject(closed);
      return new Promise((resolve, refuse) => {
        (urgent ? urgentLane : otherLane).push({ needs: needed(alone), admit: resolve, refuse });
        admit();
      });
    },
    leave(alone = false) {
      free += needed(alone);
      admit();
    },
    close(reason) {
      closed = reason;
      for (const waiter of [...urgentLane.splice(0), ...otherLane.splice(0)]) waiter.refuse(reason);
    },
  };
}
