import { Command, CommanderError, InvalidArgumentError } from "commander";
import { edgeOf, LeasefoldError, messageOf } from "../../src/engine/model/errors.ts";
import { version } from "../../src/engine/model/settings.ts";
import { type AddCommand, type Cli, Session } from "./cli.ts";
import { addCalculations, addCheck, addInit, addNew } from "./commands/calculations.ts";
import { addCosts } from "./commands/costs.ts";
import { addDoctor } from "./commands/doctor.ts";
import { addFailures, addStatus, addWatch } from "./commands/inspect.ts";
import { addLeader } from "./commands/leader.ts";
import { addLogs } from "./commands/logs.ts";
import { addPlan } from "./commands/plan.ts";
import { addQueues } from "./commands/queues.ts";
import { addReport, addResult, addVerify } from "./commands/result.ts";
import { addRuns } from "./commands/runs.ts";
import { addSchedules } from "./commands/schedule.ts";
import { addSql } from "./commands/sql.ts";
import { addCancel, addCap, addDelete, addPauseAndResume, addRetry } from "./commands/steer.ts";
import { addSubmit } from "./commands/submit.ts";
import { addInputs, addUpload } from "./commands/upload.ts";
import { addWorkers } from "./commands/workers.ts";
import { bugExitCode, exitCodeHelp, interruptedBy, wrongUsage } from "./exitCodes.ts";
import { asTyped } from "./freeOptions.ts";
import { clip, oneLine, paint } from "./render/text.ts";

/** The help lists commands in these groups, each in the order of a run's journey. */
const groups: Readonly<Record<string, readonly AddCommand[]>> = {
  "Calculations:": [addCalculations, addInit, addNew, addCheck, addUpload, addInputs, addPlan, addSql],
  "Runs:": [
    addSubmit,
    addRuns,
    addCosts,
    addStatus,
    addWatch,
    addPauseAndResume,
    addCap,
    addCancel,
    addFailures,
    addLogs,
    addRetry,
    addResult,
    addReport,
    addVerify,
    addDelete,
    addSchedules,
  ],
  "Operation:": [addLeader, addWorkers, addQueues, addDoctor],
};

const storageHelp = `Storage: --connection, else --account, else the setting DataStorage (or
DataStorage__blobServiceUri and DataStorage__queueServiceUri), else the embedded
instances that run in this folder or above.`;

/**
 * Runs one command and returns its exit code. Never throws, and never ends the process. `more` are commands that run
 * programs on this machine.
 */
export async function runCommand(argv: readonly string[], cli: Cli, more: readonly AddCommand[] = []) {
  const program = new Command("leasefold")
    .description(
      "One big calculation, cut into chunks, computed on Azure Functions and folded into one result.",
    )
    .version(version)
    .option(
      "--connection <string>",
      "connection string; others can read its key here, but not in DataStorage",
    )
    .option("--account <name>", "storage account to reach with your Azure sign-in")
    .option(
      "--storage-host <suffix>",
      "send the token to hosts that end so, too (default: Azure Storage alone)",
    )
    .option("--namespace <prefix>", "prefix of every container and queue (default: leasefold)")
    .option("--json", "JSON for programs instead of text for people")
    .addHelpText("after", () => `\n${storageHelp}\n\n${exitCodeHelp()}`)
    .configureHelp({ showGlobalOptions: true })
    .showSuggestionAfterError();
  const session = new Session(cli, () => program.opts());
  for (const [heading, commands] of Object.entries({ ...groups, "This machine:": more })) {
    program.commandsGroup(heading);
    for (const add of commands) add(program, session);
  }
  program.hook("preAction", (_program, command) => cli.passOn?.(command.getOptionValue("env") ?? []));
  const errors: string[] = [];
  redirectOutput(program, cli, errors);
  const stopped = new Promise<number>((resolve) => {
    const end = (): void => resolve(interruptedBy(cli.signal));
    cli.signal.addEventListener("abort", () => cli.clock.after(session.stopMs, end));
  });
  // A name with half of a surrogate pair, which Windows allows, can be in no address.
  const words = argv.map((one) => one.toWellFormed());
  const parsed = async () => program.parseAsync(withoutVainHelp(program, words), { from: "user" });
  const ended = parsed().then(
    () => (cli.signal.aborted && !session.keepsExitCode ? interruptedBy(cli.signal) : session.exitCode),
    (error: unknown) => exitCodeAfter(error, cli, argv, errors),
  );
  return await Promise.race([ended, stopped]);
}

/** Without `--help` of a command that there is not, for which Commander would show the help of the group and end with 0. */
function withoutVainHelp(program: Command, argv: readonly string[]): readonly string[] {
  return asksForCommand(program, argv) ? argv : argv.filter((one) => one !== "--help" && one !== "-h");
}

/** Whether what follows a group of commands is one of them; true where nothing follows. */
function asksForCommand(group: Command, argv: readonly string[]): boolean {
  const { operands, unknown } = group.parseOptions([...argv]);
  const [asked, ...rest] = operands;
  if (asked === undefined || asked === "help") return true;
  const found = group.commands.find((one) => [one.name(), ...one.aliases()].includes(asked));
  if (found === undefined) return false;
  return found.commands.length === 0 || asksForCommand(found, [...rest, ...unknown]);
}

/** Makes Commander throw instead of ending the process, and collect its errors in `errors`, for every command. */
function redirectOutput(command: Command, cli: Cli, errors: string[]): void {
  command.exitOverride().configureOutput({
    writeOut: (text) => void cli.out.write(text),
    writeErr: (text) => void errors.push(text),
    getOutHelpWidth: () => Math.min(cli.out.columns, 100),
    getErrHelpWidth: () => Math.min(cli.err.columns, 100),
    getOutHasColors: () => cli.out.color,
    getErrHasColors: () => cli.err.color,
  });
  refuseEmpty(command);
  for (const inner of command.commands) redirectOutput(inner, cli, errors);
}

/** Nothing that is given as text may be empty, such as an unset variable of a script; but the words of another program may. */
function refuseEmpty({ options, registeredArguments }: Command): void {
  const texts = [
    ...options.filter((one) => one.required || one.optional),
    ...registeredArguments.filter(({ variadic }) => !variadic),
  ];
  for (const one of texts) {
    if (one.parseArg !== undefined) continue;
    one.argParser((text: string, before: unknown) => {
      if (text.trim() === "") throw new InvalidArgumentError("it must not be empty.");
      return one.variadic ? [...((before as readonly string[] | undefined) ?? []), text] : text;
    });
  }
}

async function exitCodeAfter(error: unknown, cli: Cli, argv: readonly string[], errors: readonly string[]) {
  if (cli.signal.aborted) return interruptedBy(cli.signal);
  if (error instanceof CommanderError) {
    // --help and --version throw as well, after they have printed.
    if (error.exitCode === 0) return 0;
    // A group without a command shows its help.
    if (error.code === "commander.help") {
      await cli.err.write(errors.join(""));
      return wrongUsage;
    }
  }
  return await printError(asTyped(error, argv), cli, argv.includes("--json"));
}

/** An error of Commander's parsing in the words of all others: `invalid --cap: x: it must be a whole number`. */
function usageText({ message }: CommanderError): string {
  const text = message.replace(/^error: /, "").replace(/\.$/, "");
  const ofOption = /^option '.*?(--[\w-]+).*?' argument '(.*)' is invalid\. (.*)$/s.exec(text);
  const ofArgument = /^command-argument value '(.*)' is invalid for argument '(.*?)'\. (.*)$/s.exec(text);
  const [name, value = "", rule = ""] =
    ofOption?.slice(1) ?? (ofArgument === null ? [] : [`<${ofArgument[2]}>`, ofArgument[1], ofArgument[3]]);
  if (name === undefined) return text;
  const shown = value === "" ? '""' : clip(value, shownMax);
  return `invalid ${name}: ${shown}: ${rule.charAt(0).toLowerCase()}${rule.slice(1)}`;
}

const shownMax = 60;

/**
 * Prints an error on standard error, on one line or as JSON, and returns the exit code. A stack is printed only for a
 * bug, and only with NODE_DEBUG=leasefold.
 */
export async function printError(error: unknown, cli: Pick<Cli, "err" | "env">, json: boolean) {
  const exitCode = error instanceof CommanderError ? wrongUsage : edgeOf(error).exitCode;
  const message = oneLine(error instanceof CommanderError ? usageText(error) : messageOf(error));
  if (json) {
    const other = { code: error instanceof CommanderError ? "usage" : "internal", details: {} };
    const { code, details } = error instanceof LeasefoldError ? error : other;
    const described = { code, field: (details as { field?: unknown }).field, message, exitCode };
    await cli.err.write(`${JSON.stringify({ error: described })}\n`);
    return exitCode;
  }
  const label = paint(cli.err, "red", "leasefold:");
  const bug = exitCode === bugExitCode;
  const hint = bug ? " (this is a bug in Leasefold; NODE_DEBUG=leasefold shows where)" : "";
  await cli.err.write(`${label} ${message}${hint}\n`);
  const wanted = (cli.env["NODE_DEBUG"] ?? "").split(",").includes("leasefold");
  if (bug && wanted && error instanceof Error) await cli.err.write(`${error.stack}\n`);
  return exitCode;
}
