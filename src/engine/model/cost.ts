import * as z from "zod";
import { type CallCounts, dollarsOf } from "./calls.ts";
import { count, ms } from "./decode.ts";
import { flexDollars } from "./prices.ts";

/**
 * What a run uses of instances, as Flex Consumption counts it: the memory of an instance while it executes anything, however many
 * threads share it, and executions. Azure Monitor counts the same in `OnDemandFunctionExecutionUnits` and `…Count`.
 */

export interface InstanceUse {
  /** Memory of the instance, as it was set, × time. */
  readonly mbMs: number;
  readonly executions: number;
}

/** Storage calls as views show them. */
export const callCountsSchema = z.object({
  write: count,
  list: count,
  read: count,
  other: count,
  queue: count,
  delete: count,
});

export const costSchema = z
  .object({
    dollars: ms.describe("Storage and compute at list prices: an estimate."),
    storageDollars: ms.describe("Storage calls."),
    computeDollars: ms.describe("Instances of Flex Consumption while they led or computed."),
    gbS: ms.describe("GB-seconds of these instances."),
    executions: count.describe("Deliveries of the run's messages."),
  })
  .meta({ id: "Cost" });
export type Cost = z.infer<typeof costSchema>;

/** MB-milliseconds of one GB-second, as the meters of Azure Functions have it. */
const mbMsOfGbS = 1_024_000;

/** Figures have four significant digits. */
const rounded = (value: number): number => Number(value.toPrecision(4));

export function costOf(calls: CallCounts, { mbMs, executions }: InstanceUse): Cost {
  const storageDollars = dollarsOf(calls);
  const gbS = mbMs / mbMsOfGbS;
  const computeDollars = gbS * flexDollars.perGbS + (executions * flexDollars.perMillionExecutions) / 1e6;
  return {
    dollars: rounded(storageDollars + computeDollars),
    storageDollars,
    computeDollars: rounded(computeDollars),
    gbS: rounded(gbS),
    executions,
  };
}

export function sumCosts(costs: readonly Cost[]): Cost {
  const of = (name: keyof Cost): number => costs.reduce((sum, one) => sum + one[name], 0);
  return {
    dollars: rounded(of("storageDollars") + of("computeDollars")),
    storageDollars: rounded(of("storageDollars")),
    computeDollars: rounded(of("computeDollars")),
    gbS: rounded(of("gbS")),
    executions: of("executions"),
  };
}
