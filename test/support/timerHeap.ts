/**
 * Timers by the time they are due, equal ones by their drawn order: adding, taking back and finding the next one
 * cost the logarithm of their number, so that a world may hold hundreds of thousands.
 */
export interface TimerHeap {
  add(timer: Timer): void;
  /** Takes the timer out, if it is still there. */
  drop(timer: Timer): void;
  first(): Timer | undefined;
  clear(): void;
}

export interface Timer {
  readonly dueMs: number;
  readonly order: number;
  readonly fire: () => void;
  /** Its place in the heap, kept by the heap; -1 outside. */
  place: number;
}

export const sooner = (a: Timer, b: Timer): boolean =>
  a.dueMs < b.dueMs || (a.dueMs === b.dueMs && a.order < b.order);

export function timerHeap(): TimerHeap {
  const heap: Timer[] = [];
  const put = (timer: Timer, place: number): void => {
    heap[place] = timer;
    timer.place = place;
  };
  const rise = (timer: Timer, from: number): void => {
    let place = from;
    while (place > 0) {
      const above = (place - 1) >> 1;
      const parent = heap[above] as Timer;
      if (!sooner(timer, parent)) break;
      put(parent, place);
      place = above;
    }
    put(timer, place);
  };
  const sink = (timer: Timer, from: number): void => {
    let place = from;
    for (;;) {
      const left = 2 * place + 1;
      const right = left + 1;
      if (left >= heap.length) break;
      const both = right < heap.length && sooner(heap[right] as Timer, heap[left] as Timer);
      const below = both ? right : left;
      if (!sooner(heap[below] as Timer, timer)) break;
      put(heap[below] as Timer, place);
      place = below;
    }
    put(timer, place);
  };
  return {
    add: (timer) => rise(timer, heap.length),
    drop(timer) {
      const { place } = timer;
      if (heap[place] !== timer) return;
      timer.place = -1;
      const last = heap.pop() as Timer;
      if (last === timer) return;
      sink(last, place);
      rise(last, last.place);
    },
    first: () => heap[0],
    clear() {
      for (const timer of heap) timer.place = -1;
      heap.length = 0;
    },
  };
}
