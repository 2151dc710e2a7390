import { readdirSync, readFileSync } from "node:fs";

/** What a process holds at one moment; NaN where the system does not tell. */
export interface Held {
  readonly atS: number;
  readonly residentMb: number;
  readonly handles: number;
}

/** Resident memory in MB, and open file descriptors: files, sockets and pipes (`man 5 proc`). */
export function heldBy(pid: number, atS: number): Held {
  try {
    const kb = /^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
    return { atS, residentMb: Number(kb) / 1024, handles: readdirSync(`/proc/${pid}/fd`).length };
  } catch {
    return { atS, residentMb: Number.NaN, handles: Number.NaN };
  }
}

export interface Growth {
  readonly residentMb: number;
  readonly handles: number;
  readonly mostMb: number;
  readonly mostHandles: number;
}

/**
 * How much more a process holds in the last third of its time than in the second; the first is its warm-up. What comes and goes
 * with work is in both: of memory the medians count, and of handles the least, for connections come in crowds.
 */
export function growthOf(samples: readonly Held[]): Growth {
  const told = samples.filter(({ residentMb }) => !Number.isNaN(residentMb));
  const third = Math.floor(told.length / 3);
  const [warm, end] = [told.slice(third, 2 * third), told.slice(2 * third)];
  const median = (held: readonly Held[]): number =>
    held.map((one) => one.residentMb).toSorted((a, b) => a - b)[held.length >> 1] ?? Number.NaN;
  const least = (held: readonly Held[]): number => Math.min(...held.map((one) => one.handles));
  return {
    residentMb: median(end) - median(warm),
    handles: end.length === 0 ? Number.NaN : least(end) - least(warm),
    mostMb: Math.max(0, ...told.map((one) => one.residentMb)),
    mostHandles: Math.max(0, ...told.map((one) => one.handles)),
  };
}
