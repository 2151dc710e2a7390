import { getSystemErrorMap } from "node:util";
import { type Command, InvalidArgumentError, Option } from "commander";
import { InputError, messageOf } from "../../src/engine/model/errors.ts";
import { pairsOf } from "../../src/engine/model/json.ts";
import { parseTags, type Tags, tagRule } from "../../src/engine/model/labels.ts";
import type { Tolerance } from "../../src/engine/model/run.ts";
import { duration, typedMs } from "./render/text.ts";

/** A command that names a calculation and takes its parameters as options; see `freeOptions.ts`. */
export const calculationCommand = (program: Command, name: string, argument: string): Command =>
  program
    .command(name)
    .argument("<calculation>", argument)
    .option("-p, --param <name=value>", "set a parameter by its name; repeatable", repeated)
    .usage("<calculation> [--<parameter> <value> …] [options]")
    .allowUnknownOption()
    .allowExcessArguments();

/** For commands that compute here. */
export const folderOption = (): Option =>
  new Option("--folder <path>", "read this folder as the source, instead of what is uploaded");

/** For commands that run calculations here; `Cli.passOn` makes it hold. */
export const envOption = (): Option =>
  new Option(
    "--env <name>",
    "let calculations find this environment variable, beside those of LEASEFOLD_ENV; repeatable",
  ).argParser(repeated);

/** The options of a command and of all commands, as they are typed. */
export const optionNames = (command: Command): string[] =>
  [...command.options, ...(command.parent?.options ?? [])].flatMap(({ long }) => long ?? []);

/** An option that may come several times. */
export const repeated = (one: string, before: readonly string[] = []): readonly string[] => [...before, one];

/** Tags as options, which are checked with their templates `filled`; throws `InputError`. */
export function tagsOf(texts: readonly string[] | undefined, filled = texts): Tags | undefined {
  if (texts === undefined || filled === undefined) return undefined;
  if (parseTags(filled) !== undefined) return pairsOf(texts);
  throw badOption("tag", `${texts.join(" ")}: give key=value, each key once; ${tagRule}`);
}

/** A number on the command line: `2000`, `1e6`. The client checks its range. */
export function wholeOption(text: string): number {
  const value = Number(text);
  if (text.trim() !== "" && Number.isSafeInteger(value)) return value;
  throw new InvalidArgumentError("it must be a whole number.");
}

/** Dollars: `5`, `0.25`. The client checks the range. */
export function dollarsOption(text: string): number {
  const value = Number(text.replace(/^\$/, ""));
  if (text.trim() !== "" && Number.isFinite(value)) return value;
  throw new InvalidArgumentError("it must be a number of dollars like 5 or 0.25.");
}

/** Chunks that a result may miss: a number, `10` or `1e6`, or a share, `1%` or `0.5 %`. */
export function toleranceOption(text: string): Tolerance {
  const [, digits, percent] = /^\s*(\d+(?:\.\d+)?(?:e\d+)?)\s*(%)?\s*$/.exec(text) ?? [];
  const value = Number(digits);
  if (percent === undefined && Number.isSafeInteger(value)) return { chunks: value };
  if (percent !== undefined && value <= 100) return { percent: value };
  if (percent !== undefined) throw new InvalidArgumentError("a share of the chunks is at most 100%.");
  throw new InvalidArgumentError('it must be a whole number of chunks like 10, or a share like "1%".');
}

/** A duration in ms, above 0 and up to `maxMs`. */
export const durationOption =
  (maxMs: number) =>
  (text: string): number => {
    const ms = typedMs(text);
    if (ms === undefined) throw new InvalidArgumentError("it must be a duration like 30s, 5m, 2h or 1d.");
    if (ms < 1) throw new InvalidArgumentError("it must be more than 0.");
    if (ms > maxMs) throw new InvalidArgumentError(`it must be at most ${duration(maxMs / 1_000)}.`);
    return ms;
  };

/** Pauses in whole seconds, as `0s,30s,2m`. */
export function pausesOption(text: string): number[] {
  return text.split(",").map((one) => {
    const ms = typedMs(one);
    if (ms === undefined || ms % 1_000 !== 0)
      throw new InvalidArgumentError("it must be durations of whole seconds like 5s,30s,2m.");
    return ms / 1_000;
  });
}

/** An option with a value that cannot be used; `text` is the value and what is allowed. */
export const badOption = (name: string, text: string, code = "bad-option"): InputError =>
  new InputError("invalid", code, `invalid --${name}: ${text}`, { field: name });

/** Throws `InputError` for a number out of its range. */
export function checkRange(name: string, value: number | undefined, min: number, max = Infinity): void {
  if (value === undefined || (value >= min && value <= max)) return;
  throw badOption(
    name,
    `${value}: must be ${max === Infinity ? `at least ${min}` : `from ${min} to ${max}`}`,
  );
}

/** Whether a call of the operating system failed. */
export const isSystemError = (error: unknown): error is NodeJS.ErrnoException & { errno: number } =>
  error instanceof Error && "errno" in error && typeof error.errno === "number";

/** Why a call of the operating system failed, in its own words: `no space left on device (ENOSPC)`. */
export function systemReason(cause: unknown): string {
  const known = isSystemError(cause) ? getSystemErrorMap().get(cause.errno) : undefined;
  return known === undefined ? messageOf(cause) : `${known[1]} (${known[0]})`;
}
