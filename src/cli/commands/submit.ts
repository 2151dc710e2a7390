import type { Command } from "commander";
import type { RunRequest } from "../../client/runRequest.ts";
import { InputError } from "../../model/errors.ts";
import type { Tolerance } from "../../model/run.ts";
import { askedCalculation } from "../askedCalculation.ts";
import type { Session } from "../cli.ts";
import { readFreeOptions } from "../freeOptions.ts";
import { durationOption, paramOption, toleranceOption, wholeOption } from "../options.ts";
import { paint } from "../render/text.ts";
import { uploadedSource, uploadShown } from "../uploadShown.ts";
import { waitForEnd } from "../watchRun.ts";

interface Options {
  readonly param: readonly string[];
  readonly id?: string;
  readonly packSize?: number;
  readonly cap?: number;
  readonly tolerate?: Tolerance;
  readonly packLimit?: number;
  readonly attempts?: number;
  readonly deadline?: number;
  readonly keep?: boolean;
  readonly upload?: string;
  readonly wait?: boolean;
  readonly output?: string;
}

/** `leasefold submit <calculation>`: starts a run and, with --wait, stays until it is over. */
export function addSubmit(program: Command, session: Session): void {
  program
    .command("submit")
    .description("start a run; the calculation's own parameters are options, such as --to 1e9")
    .argument("<calculation>", "name of a calculation, or the file of your own, such as ./mine.ts")
    .addOption(paramOption())
    .option("--id <id>", "id of the run; the same id and request again is the same run")
    .option("--pack-size <n>", "chunks per message, instead of what planning measures", wholeOption)
    .option("--cap <n>", "packs in flight at most", wholeOption)
    .option("--tolerate <n>", "chunks that may fail, as a number or a share: 10 or 1%", toleranceOption)
    .option(
      "--pack-limit <time>",
      "time limit of one attempt, such as 30s, where the app allows more",
      durationOption,
    )
    .option("--attempts <n>", "attempts of a chunk that throws", wholeOption)
    .option(
      "--deadline <time>",
      "fail the run if it is not complete after so long: 90s, 5m, 2h, 1d",
      durationOption,
    )
    .option("--keep", "with --deadline: finish with what is done then, and do not fail")
    .option("--upload <path>", "upload this file or folder first, and read it as the source")
    .option("--wait", "show progress, then print the result")
    .option("-o, --output <file>", "with --wait: write the result to a file")
    .usage("<calculation> [--<parameter> <value> …] [options]")
    .allowUnknownOption()
    .allowExcessArguments()
    .action(async (calculation: string, options: Options, command: Command) => {
      await submitOne(session, calculation, command.args.slice(1), options);
    });
}

async function submitOne(
  session: Session,
  asked: string,
  tokens: readonly string[],
  options: Options,
): Promise<void> {
  // Before any storage is asked, so that a mistake is told at once.
  const limits = limitsOf(options);
  const calculation = await askedCalculation(session, asked);
  const given = readFreeOptions(tokens, options.param, calculation.params);
  const params =
    options.upload === undefined ? given : await uploadedSource(session, calculation, given, options.upload);
  const { id, packSize, cap, tolerate } = options;
  const submitted = await calculation.submit({ params, id, packSize, cap, tolerate, ...limits });
  const waits = options.wait === true || options.output !== undefined;
  if (!waits) return await tell(session, submitted);
  await session.note(`${submitted.run} ${submitted.created ? "submitted" : "was submitted before"}`);
  await waitForEnd(session, submitted.run, options.output);
}

/** The limits that a run sets itself. */
function limitsOf({
  packLimit,
  attempts,
  deadline,
  keep = false,
}: Options): Pick<RunRequest, "packLimitMs" | "attempts" | "deadline"> {
  if (keep && deadline === undefined) {
    throw new InputError("invalid", "bad-option", "--keep: needs --deadline", { field: "keep" });
  }
  return {
    packLimitMs: packLimit,
    attempts,
    ...(deadline === undefined ? {} : { deadline: { ms: deadline, keep } }),
  };
}

async function tell(
  session: Session,
  submitted: { readonly run: string; readonly created: boolean; readonly woken: boolean },
): Promise<void> {
  if (!submitted.woken)
    await session.note("the wake queue cannot be reached: the run starts with the next timer tick");
  if (session.json()) return await session.printJson(submitted);
  await session.print(`${submitted.run}${submitted.created ? "" : " was submitted before"}`);
  if (session.cli.out.isTty) {
    await session.note(paint(session.cli.err, "dim", `follow it: leasefold status ${submitted.run} --watch`));
  }
}

interface UploadOptions {
  readonly to?: string;
  readonly replace?: boolean;
}

/** `leasefold upload PATH…`: files of this machine become inputs; prints what a calculation takes as its source. */
export function addUpload(program: Command, session: Session): void {
  program
    .command("upload")
    .description("upload files or folders for calculations; prints the source that they are read from")
    .argument("<path...>", "files and folders; what is in a folder keeps its path below it")
    .option("--to <folder>", "where they go (default: the name of the folder)")
    .option("--replace", "overwrite what is there with other content")
    .action(async (paths: readonly string[], options: UploadOptions) => {
      const uploaded = await uploadShown(session, paths, options);
      if (session.json()) return await session.printJson(uploaded);
      await session.print(uploaded.source);
      if (!session.cli.out.isTty) return;
      const hint = `use it: leasefold submit … --source ${uploaded.source}`;
      await session.note(paint(session.cli.err, "dim", hint));
    });
}
