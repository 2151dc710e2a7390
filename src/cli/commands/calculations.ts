import { relative } from "node:path";
import type { Command } from "commander";
import type { ParamRow } from "../../calculations/params.ts";
import { type DescribedCalculation, describeCalculations } from "../../client/describeCalculations.ts";
import { messageOf } from "../../model/errors.ts";
import { askedCalculation } from "../askedCalculation.ts";
import type { Session } from "../cli.ts";
import { table } from "../render/table.ts";
import { oneLine } from "../render/text.ts";
import { writeStarter } from "../starter/writeStarter.ts";

/**
 * `leasefold calculations [NAME]`: what can be computed here and by the instances that run here, and with which
 * parameters. Needs no storage.
 */
export function addCalculations(program: Command, session: Session): void {
  program
    .command("calculations")
    .description("list the calculations, or the parameters of one")
    .argument("[name]", "name of a calculation, or the file of your own, such as ./mine.ts")
    .action(async (asked: string | undefined) => {
      if (asked !== undefined) return await tellOne(session, await askedCalculation(session, asked));
      const all = await listed(session);
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

async function listed(session: Session): Promise<readonly DescribedCalculation[]> {
  const known = describeCalculations(await session.cli.calculations());
  const names = new Set(known.map(({ name }) => name));
  const instances = await session.instances();
  const running = await instances?.calculations().catch(async (error: unknown) => {
    await session.note(`those of the running instances are not listed: ${messageOf(error)}`);
    return [];
  });
  return [...known, ...(running ?? []).filter(({ name }) => !names.has(name))];
}

async function tellOne(session: Session, { name, summary, params }: DescribedCalculation): Promise<void> {
  if (session.json()) return await session.printJson({ name, summary, params });
  await session.print(`${name}: ${oneLine(summary)}`);
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

/** `leasefold new NAME`: a calculation that works, with its test, to be changed into one's own. */
export function addNew(program: Command, session: Session): void {
  program
    .command("new")
    .description("write a commented calculation of your own to start from, and its test")
    .argument("<name>", "its name: lower-case letters, digits and dashes")
    .option("--dir <folder>", "where to; it is made where there is none", ".")
    .action(async (name: string, { dir }: { dir: string }) => {
      const { cli } = session;
      const made = await writeStarter(name, { folder: cli.folder, dir });
      const shown = (path: string): string => oneLine(relative(cli.folder, path));
      const file = `./${shown(made.calculation).replaceAll("\\", "/")}`;
      const next = [
        `npx --no-install leasefold check ${file}`,
        `npx --no-install leasefold up --calculation ${file}`,
        `npx --no-install leasefold submit ${name} --wait`,
      ];
      const test = `node --test ${shown(made.test)}`;
      if (session.json()) return await session.printJson({ name, ...made, next, runTest: test });
      await session.print(`wrote ${shown(made.calculation)}\n      ${shown(made.test)}`);
      if (made.linked !== undefined) await session.print(`linked ${shown(made.linked)}, which both import`);
      if (made.unlinked !== undefined) await session.note(made.unlinked);
      await session.print(
        ["\nThen:", ...next.map((line) => `  ${line}`), "", `Its test: ${test}`].join("\n"),
      );
    });
}
