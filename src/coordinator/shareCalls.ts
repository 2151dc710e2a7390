import { addCalls, type CallCounts, noCalls, subtractCalls } from "../model/calls.ts";
import type { CoordinatorPorts, RunWork } from "./perform.ts";

/** Spreads what this loop's calls were over the runs it served; they are an estimate per run, exact in total. */
export function shareCalls(
  ports: Pick<CoordinatorPorts, "storage">,
  runs: ReadonlyMap<string, RunWork>,
  before: CallCounts,
): CallCounts {
  const now = ports.storage.meter.counts();
  const spent = subtractCalls(now, before);
  let rest = spent;
  const count = runs.size;
  for (const [index, run] of [...runs.values()].entries()) {
    const share = index === count - 1 ? rest : divide(spent, count);
    rest = subtractCalls(rest, share);
    run.working = { ...run.working, calls: addCalls(run.working.calls, share) };
  }
  return count === 0 ? before : now;
}

const divide = (calls: CallCounts, by: number): CallCounts =>
  Object.fromEntries(
    Object.keys(noCalls).map((name) => [name, Math.floor(calls[name as keyof CallCounts] / by)]),
  ) as unknown as CallCounts;
