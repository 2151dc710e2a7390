/**
 * CPU time in seconds of this process while `work` runs: what other processes take of the machine does not count, so a bound
 * holds on a busy one too.
 */
export async function cpuSecondsIn(work: () => unknown): Promise<number> {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1e6;
}
