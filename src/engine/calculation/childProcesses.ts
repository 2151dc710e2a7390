import { isMainThread, parentPort, threadId, type Worker } from "node:worker_threads";

/**
 * Processes that threads start for user code: each leads a process group, which is killed with its thread. A thread that is
 * ended by force can do nothing any more, so it tells of them before, and whoever owns the thread kills them.
 */
interface ChildTold {
  readonly leasefoldChild: number;
  readonly thread: number;
  readonly ended: boolean;
}

/** Tells the owner of this thread that a process has started or has ended. */
export function tellChild(pid: number, ended: boolean): void {
  if (!isMainThread)
    parentPort?.postMessage({ leasefoldChild: pid, thread: threadId, ended } satisfies ChildTold);
}

/** Kills a process and all that it has started; none is left if it has ended. */
export function killGroup(pid: number): void {
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // It has ended.
  }
}

/** The processes of the threads of one owner. */
export function childProcesses(workerOf: (thread: number) => Worker | undefined) {
  const children = new Map<number, Set<number>>();
  const kill = (thread: number): boolean => {
    const pids = children.get(thread) ?? new Set();
    for (const pid of pids) killGroup(pid);
    return pids.size > 0;
  };
  return {
    /** Kills those of a thread; whether there were any. */
    kill,
    any: (): boolean => [...children.values()].some(({ size }) => size > 0),
    /** Takes a message of a thread; others are ignored. */
    told(message: unknown): void {
      const { leasefoldChild: pid, thread, ended } = Object(message) as Partial<ChildTold>;
      if (pid === undefined || thread === undefined) return;
      const worker = workerOf(thread);
      if (ended === true) children.get(thread)?.delete(pid);
      else if (worker === undefined) killGroup(pid);
      else {
        if (!children.has(thread))
          worker.once("exit", () => {
            kill(thread);
            children.delete(thread);
          });
        children.set(thread, (children.get(thread) ?? new Set()).add(pid));
      }
    },
  };
}
