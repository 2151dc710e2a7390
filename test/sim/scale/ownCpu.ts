import type { Storage } from "../../../src/engine/storage/ports.ts";

/** The CPU time of each loop of a leader while no send of it is under way. */
export interface OwnCpu {
  /** In ms, one for each loop that has ended. */
  readonly loops: readonly number[];
  nextLoop(): void;
  /** Runs what is no work of the leader. */
  leaveOut(run: () => void): void;
  /** The same storage, whose sends are left out of the time. */
  apartFromSends(storage: Storage): Storage;
}

export function ownCpu(cpuMs: () => number): OwnCpu {
  const loops: number[] = [];
  let sinceMs = cpuMs();
  let ownMs = 0;
  let sending = 0;
  const addUp = (): void => {
    const nowMs = cpuMs();
    ownMs += nowMs - sinceMs;
    sinceMs = nowMs;
  };
  return {
    loops,
    nextLoop() {
      if (sending === 0) addUp();
      loops.push(ownMs);
      ownMs = 0;
    },
    leaveOut(run) {
      if (sending === 0) addUp();
      run();
      sinceMs = cpuMs();
    },
    apartFromSends: (storage) => ({
      ...storage,
      queues: {
        ...storage.queues,
        async send(...args) {
          if (sending === 0) addUp();
          sending += 1;
          try {
            return await storage.queues.send(...args);
          } finally {
            sending -= 1;
            if (sending === 0) sinceMs = cpuMs();
          }
        },
      },
    }),
  };
}
