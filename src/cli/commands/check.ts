import type { Command } from "commander";
import { InputError } from "../../model/errors.ts";
import { calculationFiles, fileAsked } from "../askedCalculation.ts";
import type { CheckReport, CheckRequest } from "../check/runCheck.ts";
import type { Session } from "../cli.ts";
import { calculationFailed } from "../exitCodes.ts";
import { paramOption, wholeOption } from "../options.ts";
import { count } from "../render/amounts.ts";

interface Options {
  readonly param: readonly string[];
  readonly chunks?: number;
  readonly runs?: number;
  readonly seed: number;
  readonly limit: number;
}

/** `leasefold check <file or name>`: whether a calculation keeps the laws that its result stands on. Needs no storage. */
export function addCheck(program: Command, session: Session): void {
  program
    .command("check")
    .description("try the laws on a calculation: is its result the same however it is computed?")
    .argument("<calculation>", "a file such as ./mine.ts, or the name of a calculation")
    .addOption(paramOption())
    .option("--chunks <n>", "neighbouring chunks to try on, at most (default: 200)", wholeOption)
    .option("--runs <n>", "random ways to merge and pack them (default: 100)", wholeOption)
    .option("--seed <n>", "draws other random ways", wholeOption, 1)
    .option("--limit <s>", "seconds that one call of your code may take", wholeOption, 30)
    .usage("<file or name> [--<parameter> <value> …] [options]")
    .allowUnknownOption()
    .allowExcessArguments()
    .action(async (calculation: string, options: Options, command: Command) => {
      await checkOne(session, calculation, command.args.slice(1), options);
    });
}

async function checkOne(
  session: Session,
  asked: string,
  tokens: readonly string[],
  options: Options,
): Promise<void> {
  const { cli } = session;
  const { param, chunks, runs, seed, limit } = options;
  for (const [name, value] of Object.entries({ chunks, runs, limit })) {
    if (value !== undefined && value < 1) throw notPositive(name, value);
  }
  const file = fileAsked(cli.folder, asked);
  const request: CheckRequest = {
    files: calculationFiles(cli.env, cli.folder, file),
    name: file === undefined ? asked : undefined,
    ...{ tokens, pairs: param, chunks, runs, seed, limitMs: limit * 1000 },
  };
  // Loaded only here: no other command should start later for the whole engine.
  const [{ runCheck }, { linesOf }] = await Promise.all([
    import("../check/runCheck.ts"),
    import("../check/checkRows.ts"),
  ]);
  const report = await runCheck(session, request, (row) => {
    if (!session.json()) for (const line of linesOf(row, cli.out)) void session.print(line);
  });
  if (report.broken > 0) session.setExitCode(calculationFailed);
  if (session.json()) return await session.printJson(report);
  await session.print(verdictOf(report));
}

function verdictOf({ broken, laws, calculation, chunks, count: all, seed }: CheckReport): string {
  const untried = laws.filter(({ outcome }) => outcome === "unchecked").length;
  const more = untried === 0 ? "" : `, ${untried} not tried`;
  const on =
    chunks === all ? `all ${count(all)} chunks` : `the first ${count(chunks)} of ${count(all)} chunks`;
  if (broken > 0) return `${calculation}: ${broken} broken${more} (seed ${seed})`;
  return `${calculation}: no law is broken on ${on}${more} (seed ${seed})`;
}

const notPositive = (name: string, value: number): InputError =>
  new InputError("invalid", "bad-option", `--${name} must be 1 or more, and ${value} is not`, {
    field: name,
  });
