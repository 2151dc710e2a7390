import { readFileSync } from "node:fs";
import { cpus } from "node:os";

/** User and system time of a process (`man 5 proc_pid_stat`: fields 14 and 15, in hundredths). */
export function cpuSecondsOf(pid: number): number {
  try {
    const afterName = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ").at(-1)?.split(" ") ?? [];
    return (Number(afterName[11]) + Number(afterName[12])) / 100;
  } catch {
    return Number.NaN;
  }
}

/** Time of all cores together, and what of it was not idle. */
function machineSeconds(): { readonly all: number; readonly busy: number } {
  const times = cpus().map((one) => one.times);
  const all = times.reduce((sum, { user, nice, sys, idle, irq }) => sum + user + nice + sys + idle + irq, 0);
  const idle = times.reduce((sum, one) => sum + one.idle, 0);
  return { all: all / 1000, busy: (all - idle) / 1000 };
}

/** From now to the call of what it gives: CPU seconds of each of these processes, and the share of all cores that others took. */
export function othersDuring(pids: readonly number[]) {
  const before = { machine: machineSeconds(), ours: pids.map(cpuSecondsOf) };
  return (): { readonly spentS: readonly number[]; readonly share: number } => {
    const spentS = pids.map((pid, place) => cpuSecondsOf(pid) - (before.ours[place] ?? 0));
    const machine = machineSeconds();
    const busyS = machine.busy - before.machine.busy - spentS.reduce((sum, one) => sum + one, 0);
    return { spentS, share: Math.max(0, busyS / (machine.all - before.machine.all)) };
  };
}
