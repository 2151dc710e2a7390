import { type Command, Option } from "commander";
import { clientLimits } from "../../../src/engine/client/client.ts";
import type { RunRequest } from "../../../src/engine/client/runRequest.ts";
import type { Submitted } from "../../../src/engine/client/submit.ts";
import { canonicalJson } from "../../../src/engine/model/decode.ts";
import { dollars, tagsText } from "../../../src/engine/model/figures.ts";
import { limits } from "../../../src/engine/model/limits.ts";
import { priorities } from "../../../src/engine/model/priority.ts";
import { askedCalculation } from "../askedCalculation.ts";
import type { Session } from "../cli.ts";
import { readFreeOptions } from "../freeOptions.ts";
import {
  badOption,
  calculationCommand,
  dollarsOption,
  durationOption,
  optionNames,
  pausesOption,
  repeated,
  tagsOf,
  toleranceOption,
  wholeOption,
} from "../options.ts";
import { checkWritable } from "../saveBytes.ts";
import { noteUntaken, waitForEnd } from "../watchRun.ts";
import { uploadSource } from "./upload.ts";

export interface LimitOptions
  extends Pick<
    RunRequest,
    "packSize" | "workers" | "cap" | "maxCost" | "priority" | "tolerate" | "attempts"
  > {
  readonly packLimit?: number;
  readonly retryAfter?: number[];
  readonly deadline?: number;
  readonly keep?: boolean;
}

interface Options extends LimitOptions, Pick<RunRequest, "id" | "reuse" | "acceptCode" | "keepPartials"> {
  readonly param?: readonly string[];
  readonly upload?: string;
  readonly wait?: boolean;
  readonly allowGaps?: boolean;
  readonly output?: string;
  readonly tag?: readonly string[];
}

const packLimit = durationOption(clientLimits.packLimitMsMax);
const deadlineAfter = durationOption(clientLimits.deadlineMsMax);

/** Options for the limits of a run. */
export const limitOptions = (command: Command): Command =>
  command
    .option("--pack-size <n>", "chunks per pack, instead of what planning measures", wholeOption)
    .option(
      "--workers <n>",
      "packs computed at once, for packs small enough (default: those at work)",
      wholeOption,
    )
    .option("--cap <n>", "packs in flight at most", wholeOption)
    .addOption(
      new Option("--priority <priority>", "its part of the workers beside other runs").choices(priorities),
    )
    .option(
      "--max-cost <dollars>",
      "send nothing that would bring the estimated cost above, retries included; the run then pauses",
      dollarsOption,
    )
    .option(
      "--tolerate <n>",
      "chunks that may fail: a number such as 10, or a share such as 1%",
      toleranceOption,
    )
    .option(
      "--pack-limit <time>",
      "time limit of one attempt, such as 30s; that of the app holds if it is less",
      packLimit,
    )
    .option("--attempts <n>", "how often to try a chunk that throws", wholeOption)
    .option(
      "--retry-after <times>",
      "pauses between these attempts, such as 5s,30s,2m; the last one holds for all further ones",
      pausesOption,
    )
    .option("--deadline <time>", "fail the run if it takes longer, such as 90s, 5m, 2h or 1d", deadlineAfter)
    .option("--keep", "with --deadline: finish with what is done then; a run that has no plan yet fails");

/** What these options ask for. */
export function limitsOf({
  packSize,
  workers,
  cap,
  maxCost,
  priority,
  tolerate,
  attempts,
  packLimit: packLimitMs,
  retryAfter: retryAfterS,
  ...options
}: LimitOptions) {
  const { keep = false } = options;
  if (keep && options.deadline === undefined) throw badOption("keep", "needs --deadline");
  const deadline = options.deadline === undefined ? undefined : { ms: options.deadline, keep };
  return {
    packSize,
    workers,
    cap,
    maxCost,
    priority,
    tolerate,
    attempts,
    retryAfterS,
    packLimitMs,
    deadline,
  };
}

/** `leasefold submit <calculation>`: starts a run and, with --wait, waits until it has ended. */
export function addSubmit(program: Command, session: Session): void {
  const command = calculationCommand(
    program,
    "submit",
    "name of a calculation, or the file of your own, such as ./mine.ts",
  );
  limitOptions(command)
    .description("start a run; the calculation's own parameters are options, such as --to 1e9")
    .option("--id <id>", "id of the run; submitting the same request with it again starts no second run")
    .option(
      "--reuse <run>",
      "copy what this ended run has of the same code and inputs; implies --keep-partials",
    )
    .option("--accept-code", "with --reuse: also what other code computed; the manifest names both codes")
    .option("--keep-partials", "keep the partials of the complete run, for runs that reuse it")
    .option("--tag <key=value>", "a word about the run, for lists and costs: team=risk; repeatable", repeated)
    .option("--upload <path>", "upload this file or folder first, and use it as the source")
    .option("--wait", "show progress, then print the result")
    .option("-o, --output <file>", "write the result to a file, or one of files to a folder/; implies --wait")
    .option("--allow-gaps", "with --wait: a result with gaps is no failure")
    .action(async (asked: string, options: Options, command: Command) => {
      const { id, upload, reuse, acceptCode, keepPartials } = options;
      if (acceptCode && reuse === undefined) throw badOption("accept-code", "needs --reuse");
      const tags = tagsOf(options.tag);
      const limited = limitsOf(options);
      await checkWritable(session.cli, options.output);
      const calculation = await askedCalculation(session, asked);
      const given = readFreeOptions(
        command.args.slice(1),
        options.param,
        calculation.params,
        optionNames(command),
      );
      const params = upload === undefined ? given : await uploadSource(session, calculation, given, upload);
      const request = { id, ...limited, reuse, acceptCode, keepPartials, tags };
      const { submitted } = await (await calculation.api()).submit(calculation.name, params, request);
      await noteWhatHolds(session, request, submitted);
      const { run, created } = submitted;
      if (options.wait !== true && options.output === undefined) return await tell(session, submitted);
      await session.note(`${run} ${created ? "submitted" : before(submitted)}`);
      await waitForEnd(session, run, options);
    });
}

/** Says where an option does not take effect as it was given. */
async function noteWhatHolds(
  session: Session,
  { cap, maxCost, packLimitMs, tags }: Pick<RunRequest, "cap" | "maxCost" | "packLimitMs" | "tags">,
  { run, created, ...held }: Submitted,
): Promise<void> {
  if (packLimitMs !== undefined && packLimitMs > (held.packLimitMs ?? limits.packLimitMs)) {
    const told = `the app ends an attempt after ${(held.packLimitMs ?? 0) / 1_000} s (LEASEFOLD_PACK_LIMIT_S)`;
    await session.note(`--pack-limit: ${held.packLimitMs === undefined ? cutByApp : told}`);
  }
  if (!created && cap !== undefined && (held.cap ?? cap) !== cap)
    await session.note(
      `--cap: ${run} keeps its cap of ${held.cap}; change it with "leasefold cap ${run} ${cap}"`,
    );
  if (!created && maxCost !== undefined && held.cap !== undefined && held.maxCost !== maxCost)
    await session.note(
      `--max-cost: ${run} keeps ${held.maxCost === undefined ? "that of the app" : dollars(held.maxCost)}; change it with "leasefold cap ${run} --cost ${maxCost}"`,
    );
  if (!created && tags !== undefined && canonicalJson(tags) !== canonicalJson(held.tags ?? {}))
    await session.note(keptTags({ run, ...held }));
}

/** Of a run that existed the first tags stay. */
const keptTags = ({ run, tags = {} }: Pick<Submitted, "run" | "tags">): string =>
  `--tag: ${run} keeps ${Object.keys(tags).length === 0 ? "having no tags" : tagsText(tags)}, those of its first submit`;

const cutByApp =
  "the limit of the app counts where it is less (LEASEFOLD_PACK_LIMIT_S, " +
  `${limits.packLimitMs / 1_000} s by default, and at most half of functionTimeout)`;

/** A run that failed is not begun again by a submit. */
function before({ run, phase }: Submitted): string {
  if (phase !== "failed" && phase !== "cancelled") return "was submitted before";
  return `was submitted before and is ${phase}; "leasefold retry ${run}" computes what it lacks`;
}

async function tell(session: Session, submitted: Submitted): Promise<void> {
  if (!submitted.woken)
    await session.note("the wake queue cannot be reached: the run starts with the next timer tick");
  if (session.json()) return await session.printJson(submitted);
  await session.print(`${submitted.run}${submitted.created ? "" : ` ${before(submitted)}`}`);
  if (session.cli.out.isTty) {
    await session.note(`follow it: leasefold watch ${submitted.run}`, "dim");
  }
  await session.noteInstancesDown();
  // A script continues without a pause; a person wants to know that nothing happens.
  if (session.cli.err.isTty) await noteUntaken(session, submitted.run);
}
