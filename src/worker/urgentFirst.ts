import { queueOptionsSymbol, type TaskQueue } from "piscina";

type Task = Parameters<TaskQueue["push"]>[0];

/** Marks a task for the queue below. */
export const withUrgency = <T extends object>(task: T, urgent: boolean): T => ({
  ...task,
  [queueOptionsSymbol]: { urgent },
});

/** The pool's queue: urgent tasks first, each kind in order of arrival. */
export function urgentFirst(): TaskQueue {
  const urgent: Task[] = [];
  const other: Task[] = [];
  const laneOf = (task: Task): Task[] =>
    (task[queueOptionsSymbol] as { urgent?: boolean } | null)?.urgent === true ? urgent : other;
  return {
    get size() {
      return urgent.length + other.length;
    },
    shift: () => urgent.shift() ?? other.shift() ?? null,
    push: (task) => void laneOf(task).push(task),
    unshift: (task) => void laneOf(task).unshift(task),
    remove(task) {
      const lane = laneOf(task);
      const place = lane.indexOf(task);
      if (place >= 0) lane.splice(place, 1);
    },
  };
}
