import { readFileSync } from "node:fs";

/** Kernel clock ticks a second, 100 on every Linux of x64 and arm64 (`getconf CLK_TCK`). */
const ticksPerSecond = 100;

/**
 * CPU time in ms of this process and of those of its children that have ended and whose end it has seen, with theirs. Without
 * `/proc` it is that of the process alone.
 */
export function cpuMs(): number {
  try {
    const stat = readFileSync("/proc/self/stat", "utf8");
    // utime, stime, cutime and cstime are fields 14 to 17; the name before them may hold spaces (proc_pid_stat(5)).
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    const ticks = fields.slice(11, 15).reduce((sum, one) => sum + Number(one), 0);
    return (ticks * 1_000) / ticksPerSecond;
  } catch {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1_000;
  }
}
