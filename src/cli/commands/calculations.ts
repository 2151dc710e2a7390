import type { Command } from "commander";
import type { ParamRow } from "../../calculations/params.ts";
import type { Calculations } from "../../calculations/registry.ts";
import type { Session } from "../cli.ts";
import { oneLine } from "../render/plainText.ts";
import { table } from "../render/table.ts";

/** `leasefold calculations [NAME]`: what can be computed, and with which parameters. Needs no storage. */
export function addCalculations(program: Command, session: Session): void {
  program
    .command("calculations")
    .description("list the calculations, or the parameters of one")
    .argument("[name]", "name of a calculation")
    .action(async (name: string | undefined) => {
      const known = await session.cli.calculations();
      if (name !== undefined) return await tellOne(session, known, name);
      const all = known
        .list()
        .map((one) => ({ name: one.name, summary: one.summary, params: known.describeParams(one) }));
      if (session.json()) return await session.printJson({ calculations: all });
      const columns = [
        { title: "NAME" },
        { title: "WHAT IT COMPUTES, AND ITS PARAMETERS", gives: true, wraps: true },
      ];
      const rows = all.flatMap((one) => [
        [one.name, oneLine(one.summary)],
        ["", one.params.map(shortOf).join(" ")],
      ]);
      await session.cli.out.write(table(session.cli.out, columns, rows));
    });
}

async function tellOne(session: Session, known: Calculations, name: string): Promise<void> {
  const calculation = known.get(name);
  const params = known.describeParams(calculation);
  if (session.json()) return await session.printJson({ name, summary: calculation.summary, params });
  await session.print(`${name}: ${oneLine(calculation.summary)}`);
  if (params.length === 0) return await session.print("It takes no parameters.");
  const columns = [
    { title: "OPTION" },
    { title: "TYPE" },
    { title: "DEFAULT" },
    { title: "MEANING", gives: true, wraps: true },
  ];
  const rows = params.map((row) => [
    `--${row.name}`,
    row.type,
    row.default === undefined ? "(required)" : oneLine(row.default),
    oneLine(row.description),
  ]);
  await session.cli.out.write(table(session.cli.out, columns, rows));
}

/** Optional ones in brackets. */
const shortOf = ({ name, default: value }: ParamRow): string =>
  value === undefined ? `--${name}` : `[--${name} ${oneLine(value)}]`;
