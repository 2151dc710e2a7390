import * as z from "zod";
import { addCalls, type CallCounts, dollarsOf } from "./calls.ts";
import { flexDollars } from "./prices.ts";

/**
 * What a run uses of instances, as Flex Consumption counts it: the memory of an instance while it executes anything, however many
 * threads share it, and executions. Azure Monitor counts the same in `OnDemandFunctionExecutionUnits` and `…Count`.
 */
const count = z.int().nonnegative();
export const instanceUseSchema = z.object({
  /** Memory of the instance, as it was set, × time. */
  mbMs: count,
  executions: count,
});
export type InstanceUse = z.infer<typeof instanceUseSchema>;

export const noUse: InstanceUse = { mbMs: 0, executions: 0 };

/** Absent is not known, and adds nothing. */
export const addUse = (a: InstanceUse = noUse, b: InstanceUse = noUse): InstanceUse => ({
  mbMs: a.mbMs + b.mbMs,
  executions: a.executions + b.executions,
});

/** Compact text: `1662976.1`. */
export const encodeUse = ({ mbMs, executions }: InstanceUse): string => `${mbMs}.${executions}`;

/** The inverse. Any other text is no use, since it is only an estimate; none is unknown, as earlier versions tell none. */
export function decodeUse(text: string | undefined): InstanceUse | undefined {
  if (text === undefined) return undefined;
  const [mbMs, executions, ...more] = text.split(".").map(Number);
  const use = instanceUseSchema.safeParse({ mbMs, executions });
  return use.success && more.length === 0 ? use.data : noUse;
}

/** Storage calls as documents hold them. */
export const callCountsSchema = z.object({
  write: count,
  list: count,
  read: count,
  other: count,
  queue: count,
  delete: count,
});

interface Spent {
  readonly calls: CallCounts;
  readonly use?: InstanceUse | undefined;
}

/** What a run has spent, with what was reported since. Where nobody ever told of instances, nothing is known of them. */
export function spentWith(before: Spent, { calls, use }: Spent): Spent & { readonly use?: InstanceUse } {
  const all = addCalls(before.calls, calls);
  return before.use === undefined && use === undefined
    ? { calls: all }
    : { calls: all, use: addUse(before.use, use) };
}

/** Fields of a cost are absent together where instances of an earlier version did the work: then that part is not known. */
export const costSchema = z
  .object({
    dollars: z
      .number()
      .describe("Storage and compute at list prices: an estimate. Storage alone where compute is not known."),
    storageDollars: z.number().describe("Storage calls."),
    computeDollars: z
      .number()
      .describe("Instances of Flex Consumption while they led or computed.")
      .exactOptional(),
    gbS: z.number().describe("GB-seconds of these instances.").exactOptional(),
    executions: count.describe("Deliveries of the run's messages.").exactOptional(),
  })
  .meta({ id: "Cost" });
export type Cost = z.infer<typeof costSchema>;

/** MB-milliseconds of one GB-second, as the meters of Azure Functions have it. */
const mbMsOfGbS = 1_024_000;

/** Figures have four significant digits. */
const rounded = (value: number): number => Number(value.toPrecision(4));

export function costOf(calls: CallCounts, use: InstanceUse | undefined): Cost {
  const storageDollars = dollarsOf(calls);
  if (use === undefined) return { dollars: storageDollars, storageDollars };
  const gbS = use.mbMs / mbMsOfGbS;
  const computeDollars = gbS * flexDollars.perGbS + (use.executions * flexDollars.perMillionExecutions) / 1e6;
  return {
    dollars: rounded(storageDollars + computeDollars),
    storageDollars,
    computeDollars: rounded(computeDollars),
    gbS: rounded(gbS),
    executions: use.executions,
  };
}

/** The sum of what is known. */
export function sumCosts(costs: readonly Cost[]): Cost {
  const known = costs.filter(({ computeDollars }) => computeDollars !== undefined);
  const of = (name: keyof Cost): number => costs.reduce((sum, one) => sum + (one[name] ?? 0), 0);
  const dollars = rounded(of("storageDollars") + of("computeDollars"));
  const storage = { dollars, storageDollars: rounded(of("storageDollars")) };
  if (known.length === 0) return storage;
  const compute = { computeDollars: rounded(of("computeDollars")), gbS: rounded(of("gbS")) };
  return { ...storage, ...compute, executions: of("executions") };
}
