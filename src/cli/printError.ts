import { CommanderError } from "commander";
import { edgeOf, LeasefoldError, messageOf } from "../model/errors.ts";
import type { Cli } from "./cli.ts";
import { wrongUsage } from "./exitCodes.ts";
import { paint } from "./render/colour.ts";
import { oneLine } from "./render/plainText.ts";

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
