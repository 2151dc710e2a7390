import { type Command, CommanderError } from "commander";
import type { Client } from "../client/client.ts";
import { edgeOf, LeasefoldError, messageOf } from "../model/errors.ts";
import { version } from "../model/settings.ts";
import type { Cli, ConnectOptions, Session } from "./cli.ts";
import { interrupted, wrongUsage } from "./exitCodes.ts";
import { type AddCommand, makeProgram } from "./program.ts";
import { instancesDown } from "./render/instancesDown.ts";
import { oneLine, paint } from "./render/text.ts";

/** After Ctrl-C a command may clean up for so long, such as removing a half-written file; some ask for more. */
const stopMsDefault = 1_000;

/** Runs one command and gives its exit code. Never throws, and never ends the process. */
export async function runCommand(
  argv: readonly string[],
  cli: Cli,
  more: readonly AddCommand[] = [],
): Promise<number> {
  const session = newSession(cli);
  const program = makeProgram(session, version, more);
  session.bind(program);
  const said: string[] = [];
  direct(program, cli, said);
  const stopped = new Promise<number>((resolve) => {
    cli.signal.addEventListener("abort", () => cli.clock.after(session.stopMs(), () => resolve(interrupted)));
  });
  return await Promise.race([run(program, argv, session, cli, said), stopped]);
}

async function run(
  program: Command,
  argv: readonly string[],
  session: Bound,
  cli: Cli,
  said: readonly string[],
): Promise<number> {
  try {
    await program.parseAsync(argv, { from: "user" });
    return cli.signal.aborted && !session.keepsExitCode() ? interrupted : session.exitCode();
  } catch (error) {
    if (cli.signal.aborted) return interrupted;
    // Help and version end by a throw as well; they printed what was asked for.
    if (error instanceof CommanderError && error.exitCode === 0) return 0;
    // A group without a command shows its help, which is more use than an error.
    if (error instanceof CommanderError && error.code === "commander.help") {
      await cli.err.write(said.join(""));
      return wrongUsage;
    }
    return await printError(error, cli, argv.includes("--json"));
  }
}

/** Commander neither ends the process nor prints errors itself, in any command; it says them to `said`. */
function direct(command: Command, cli: Cli, said: string[]): void {
  command.exitOverride().configureOutput({
    writeOut: (text) => void cli.out.write(text),
    writeErr: (text) => void said.push(text),
    getOutHelpWidth: () => Math.min(cli.out.columns, 100),
    getErrHelpWidth: () => Math.min(cli.err.columns, 100),
    getOutHasColors: () => cli.out.colour,
    getErrHasColors: () => cli.err.colour,
  });
  for (const inner of command.commands) direct(inner, cli, said);
}

interface Bound extends Session {
  bind(program: Command): void;
  exitCode(): number;
  keepsExitCode(): boolean;
  stopMs(): number;
}

function newSession(cli: Cli): Bound {
  let options: () => ConnectOptions & { json?: boolean } = () => ({});
  let exitCode = 0;
  let keeps = false;
  let stopMs = stopMsDefault;
  let client: Promise<Client> | undefined;
  return {
    cli,
    bind: (program) => {
      options = () => program.opts();
    },
    json: () => options().json === true,
    client: () => {
      client ??= cli.connect(options());
      return client;
    },
    instances: () => cli.instances(options()),
    instancesDown: async () => instancesDown((await cli.instanceStates?.(options())) ?? []),
    stopMs: () => stopMs,
    setStopMs: (ms) => {
      stopMs = ms;
    },
    exitCode: () => exitCode,
    keepsExitCode: () => keeps,
    setExitCode: (code) => {
      exitCode = code;
    },
    keepExitCode: (code) => {
      exitCode = code;
      keeps = true;
    },
    printJson: (value) => cli.out.write(`${JSON.stringify(value)}\n`),
    print: (line) => cli.out.write(`${line}\n`),
    note: (line) => cli.err.write(`${line}\n`),
  };
}

/** Where the program itself is wrong its users are asked for more than a line. */
const bugExitCode = 70;

/**
 * Tells an error on standard error, on one line for people or as JSON for programs, and gives the exit code. A
 * stack is shown only for what must be a bug, and only with NODE_DEBUG=leasefold.
 */
export async function printError(
  error: unknown,
  cli: Pick<Cli, "err" | "env">,
  json: boolean,
): Promise<number> {
  const exitCode = exitCodeOf(error);
  const message = oneLine(messageOf(error).replace(/^error: /, ""));
  if (json) {
    await cli.err.write(`${JSON.stringify({ error: { ...describe(error), message, exitCode } })}\n`);
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

const exitCodeOf = (error: unknown): number =>
  error instanceof CommanderError ? wrongUsage : edgeOf(error).exitCode;

function describe(error: unknown): { code: string; field?: unknown } {
  if (error instanceof CommanderError) return { code: "usage" };
  if (!(error instanceof LeasefoldError)) return { code: "internal" };
  const field = error.details["field"];
  return field === undefined ? { code: error.code } : { code: error.code, field };
}
