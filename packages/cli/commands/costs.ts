import type { Command } from "commander";
import type { Costs, CostsQuery } from "../../../src/engine/client/costs.ts";
import type { Session } from "../cli.ts";
import { repeated } from "../options.ts";
import { right } from "../render/table.ts";
import { count, dollars } from "../render/text.ts";

/** `leasefold costs --by team --since 30d`: what runs have cost, summed for each value of a tag. */
export function addCosts(program: Command, session: Session): void {
  program
    .command("costs")
    .description("show what runs have cost, storage and compute, in sum or for each value of a tag")
    .option("--by <key>", "a row for each value of the tag with this key, such as team")
    .option("--since <time>", "only runs submitted since: 2026-11-23, or so long ago, such as 30d")
    .option("--tag <key=value>", "only runs with this tag; repeatable", repeated)
    .option("--prefix <text>", "only runs whose id begins so")
    .option("--calculation <name>", "only runs of this calculation")
    .action(async (query: CostsQuery) => {
      const found = await (await session.api()).costs(query);
      if (session.json()) return await session.printJson(found);
      const { by, groups, total, source } = found;
      const titles = ["RUNS", "GB-S", "EXECUTIONS", "COMPUTE", "STORAGE", "TOTAL"].map((one) => right(one));
      await session.printTable(
        [by === undefined ? "" : by.toUpperCase(), ...titles],
        [...groups.map(({ value, ...sum }) => rowOf(value ?? `no ${by}`, sum)), rowOf("total", total)],
      );
      await session.note(`an estimate at ${source}, before free grants, of the runs that are not deleted`);
    });
}

const rowOf = (name: string, { runs, gbS, executions, ...sum }: Costs["total"]): readonly string[] => [
  name,
  count(runs),
  count(gbS),
  count(executions),
  dollars(sum.computeDollars),
  dollars(sum.storageDollars),
  dollars(sum.dollars),
];
