import * as z from "zod";
import { type Cost, costSchema, sumCosts } from "../model/cost.ts";
import { isTagKey } from "../model/labels.ts";
import { pricesSource } from "../model/prices.ts";
import { type Client, defined } from "./client.ts";
import type { RunsQuery } from "./runFilter.ts";
import { invalid } from "./runRequest.ts";
import { allRuns, type ListedRun } from "./runs.ts";
import { count, list, text } from "./viewSchemas.ts";

const sum = {
  runs: count,
  ...costSchema.shape,
};

export const costsSchema = z
  .object({
    by: text.describe("The key of the tag by which runs are grouped.").exactOptional(),
    groups: list(
      z.object({ value: text.describe("Of that tag; absent for runs without it.").exactOptional(), ...sum }),
    ).describe("The most expensive first."),
    total: z.object(sum),
    source: text.describe("Where the prices are from."),
  })
  .meta({ id: "Costs" })
  .describe("What runs have cost until now, as estimated for each.");
export type Costs = z.infer<typeof costsSchema>;

export interface CostsQuery extends Pick<RunsQuery, "calculation" | "tag" | "since" | "prefix"> {
  /** The key of a tag. */
  readonly by?: string | undefined;
}

/**
 * The cost of runs, summed for each value of a tag: of those that lists show, so not of deleted ones, nor of the app while no run is
 * active. Costs what the list of all these runs costs. Throws `InputError` naming the field.
 */
export async function costs(client: Client, { by, ...query }: CostsQuery = {}): Promise<Costs> {
  if (by !== undefined && !isTagKey(by)) throw invalid("by", `${JSON.stringify(by)} is no key of a tag`);
  const all = (await allRuns(client, query)).filter(isCosted);
  const groups = by === undefined ? [] : Map.groupBy(all, ({ tags }) => tags?.[by]);
  const summed = [...groups].map(([value, own]) => ({ ...defined({ value }), ...sumOf(own) }));
  return {
    ...defined({ by }),
    groups: summed.sort((a, b) => b.dollars - a.dollars),
    total: sumOf(all),
    source: pricesSource,
  };
}

export type Costed = Extract<ListedRun, { readonly calculation: string }>;
/** One that does not decode has no cost. */
export const isCosted = (run: ListedRun): run is Costed => "calculation" in run;

const sumOf = (all: readonly Cost[]) => ({
  runs: all.length,
  ...sumCosts(all),
});
