import { dirname, relative, resolve } from "node:path";
import type { Command } from "commander";
import type { ParamRow } from "../../../src/engine/calculation/contract.ts";
import type { ParamsSchema } from "../../../src/engine/calculation/params.ts";
import type { DescribedCalculation } from "../../../src/engine/client/describeCalculations.ts";
import { InputError } from "../../../src/engine/model/errors.ts";
import { optionOf, valueText } from "../../../src/engine/model/json.ts";
import {
  askedCalculation,
  calculationFiles,
  calculationsHere,
  fileAsked,
  knownAndRunning,
} from "../askedCalculation.ts";
import type { CheckReport } from "../check/runCheck.ts";
import type { Session } from "../cli.ts";
import { filesHere } from "../connect.ts";
import { calculationFailed } from "../exitCodes.ts";
import { isRequired } from "../freeOptions.ts";
import {
  calculationCommand,
  checkRange,
  envOption,
  folderOption,
  optionNames,
  wholeOption,
} from "../options.ts";
import { wrapped } from "../render/table.ts";
import { count, countOf, oneLine, shellText, wrap } from "../render/text.ts";
import { firstCalculation, writeApp } from "../starter/writeApp.ts";
import { writeStarter } from "../starter/writeStarter.ts";

/** `leasefold calculations [NAME]`: the calculations known here and to local instances, and their parameters. */
export function addCalculations(program: Command, session: Session): void {
  program
    .command("calculations")
    .description("list the calculations, or the parameters of one")
    .argument("[name]", "name of a calculation, or the file of your own, such as ./mine.ts")
    .action(async (asked: string | undefined) => {
      if (asked !== undefined) return await tellOne(session, await askedCalculation(session, asked));
      const all = await knownAndRunning(session);
      if (session.json()) return await session.printJson({ calculations: all });
      const rows = all.flatMap(({ name, summary, params, schema }) => [
        [name, oneLine(summary)],
        ["", params.map((row) => shortOf(row, schema)).join(" ")],
      ]);
      await session.printTable(["NAME", wrapped("WHAT IT COMPUTES, AND ITS PARAMETERS")], rows);
    });
}

async function tellOne(session: Session, { name, summary, params, schema }: DescribedCalculation) {
  if (session.json()) return await session.printJson({ name, summary, params, schema });
  await session.print(wrap(`${name}: ${oneLine(summary)}`, session.cli.out.columns).join("\n"));
  if (params.length === 0) return await session.print("It takes no parameters.");
  const rows = params.map((row) => [
    optionOf(row.name),
    row.type,
    isRequired(row, schema)
      ? "(required)"
      : row.default === undefined
        ? "(optional)"
        : shownDefault(row.default),
    oneLine(row.description),
  ]);
  await session.printTable(["OPTION", "TYPE", "DEFAULT", wrapped("MEANING")], rows);
}

/** Optional parameters are in brackets. */
function shortOf(row: ParamRow, schema: ParamsSchema): string {
  const option = optionOf(row.name);
  if (isRequired(row, schema)) return option;
  return row.default === undefined ? `[${option}]` : `[${option} ${shownDefault(row.default)}]`;
}

const shownDefault = (value: unknown): string => oneLine(valueText(value)) || '""';

const posix = (path: string): string => path.replaceAll("\\", "/");

/** `leasefold new NAME`: writes a calculation that works, and its test. */
export function addNew(program: Command, session: Session): void {
  program
    .command("new")
    .description("create a calculation of your own to start from, with comments and a test")
    .argument("<name>", "name of the calculation: lower-case letters, digits and dashes")
    .option(
      "--dir <folder>",
      "folder to create it in, which may be new (default: here, or calculations/ in a clone)",
    )
    .option("--python", "one that a program in Python computes, with a Dockerfile for its workers")
    .action(async (name: string, { dir, python }: { dir?: string; python?: boolean }) => {
      const { cli } = session;
      const { node, root, ...made } = await writeStarter(name, { folder: cli.folder, dir, python });
      const shown = (path: string): string => oneLine(relative(cli.folder, path));
      // There the package is found, which need not be so where the reader stands.
      const there = dir === undefined ? cli.folder : dirname(made.calculation);
      const fromThere = (path: string): string => shellText(posix(relative(there, path)));
      const file = `./${fromThere(made.calculation)}`;
      const isOfApp = calculationsHere(cli.folder) === dirname(made.calculation);
      const next = [
        ...(there === resolve(cli.folder) ? [] : [`cd ${shellText(posix(relative(cli.folder, there)))}`]),
        `npx --no-install leasefold check ${file}`,
        `npx --no-install leasefold up${isOfApp ? "" : ` --calculation ${file}`}`,
        `npx --no-install leasefold submit ${name} --wait`,
      ];
      const test = `${shellText(posix(node))} --test ${fromThere(made.test)}`;
      // The project that was written has a script for it.
      const npmTest = made.project.some((path) => path.endsWith("package.json")) ? "npm test, or " : "";
      if (session.json()) return await session.printJson({ name, ...made, next, runTest: test });
      await session.print(`wrote ${[...made.files, ...made.project].map(shown).join("\n      ")}`);
      if (made.linked !== undefined) await session.print(`linked ${shown(made.linked)}, which both import`);
      if (made.linked !== undefined && made.project.length === 0)
        await session.print(
          `npm removes this link when it installs; "npm install ${shellText(posix(root))}" keeps it`,
        );
      if (made.unlinked !== undefined) await session.note(made.unlinked);
      await session.print(
        ["\nThen:", ...next.map((line) => `  ${line}`), "", `Its test: ${npmTest}${test}`].join("\n"),
      );
    });
}

/** `leasefold init DIR`: writes a Functions app of a user's own. */
export function addInit(program: Command, session: Session): void {
  program
    .command("init")
    .description("create a Functions app of your own, with a calculation, its test and what deploys it")
    .argument("<dir>", "folder of the app, which may be new; no file in it is overwritten")
    .action(async (dir: string) => {
      const { cli } = session;
      const { folder, files } = await writeApp(dir, cli.folder);
      const there = posix(relative(cli.folder, folder));
      const next = [
        ...(there === "" ? [] : [`cd ${shellText(there)}`]),
        "npm install",
        "npm test",
        "npm start",
        `npx --no-install leasefold submit ${firstCalculation} --wait`,
      ];
      if (session.json()) return await session.printJson({ folder, files, next });
      const shown = files.map((path) => oneLine(relative(cli.folder, path)));
      await session.print(`wrote ${shown.join("\n      ")}`);
      await session.print(["\nThen:", ...next.map((line) => `  ${line}`)].join("\n"));
    });
}

/** `leasefold check <file or name>`: checks the properties that make a result independent of the number of workers. */
export function addCheck(program: Command, session: Session): void {
  calculationCommand(program, "check", "a file such as ./mine.ts, or the name of a calculation")
    .description("test the laws of a calculation: is its result the same however it is computed?")
    .option("--chunks <n>", "number of neighboring chunks to test with, at most (default: 200)", wholeOption)
    .option("--limit <s>", "seconds that one call of your code may take", wholeOption, 30)
    .addOption(folderOption())
    .addOption(envOption())
    .usage("<file or name> [--<parameter> <value> …] [options]")
    .action(
      async (
        asked: string,
        options: { chunks?: number; param?: string[]; limit: number; folder?: string },
        command: Command,
      ) => {
        const { cli } = session;
        const { param = [], limit, chunks, folder } = options;
        const { access, source } = filesHere(cli, () => session.storage(), folder);
        for (const [name, value] of Object.entries({ chunks, limit })) checkRange(name, value, 1);
        const file = fileAsked(cli.folder, asked);
        const request = {
          files: calculationFiles(cli, file),
          name: file === undefined ? asked : undefined,
          tokens: command.args.slice(1),
          pairs: param,
          source,
          own: optionNames(command),
          chunks,
          limitMs: limit * 1000,
          access,
        };
        // A lazy import, so that other commands do not load the whole engine.
        const [{ runCheck }, { linesOf }] = await Promise.all([
          import("../check/runCheck.ts"),
          import("../check/checkRows.ts"),
        ]);
        const report = await runCheck(session, request, (row) => {
          if (!session.json()) for (const line of linesOf(row, cli.out)) void session.print(line);
        }).catch((error: unknown) => {
          if (!(error instanceof InputError) || error.code !== "unknown-calculation") throw error;
          const message = `${error.message}; or give its file, such as "leasefold check ./mine.ts"`;
          throw new InputError(error.reason, error.code, message, error.details);
        });
        if (report.broken > 0) session.exitCode = calculationFailed;
        if (session.json()) return await session.printJson(report);
        await session.print(verdictOf(report));
      },
    );
}

function verdictOf({ broken, laws, calculation, chunks, count: all }: CheckReport): string {
  const untried = laws.filter(({ outcome }) => outcome === "unchecked").length;
  const more = untried === 0 ? "" : `, ${untried} not tried`;
  const on =
    chunks === all
      ? `all ${countOf(all, "chunk")}`
      : `the first ${count(chunks)} of ${countOf(all, "chunk")}`;
  if (broken > 0) return `${calculation}: ${broken} broken${more}`;
  return `${calculation}: no law is broken on ${on}${more}`;
}
