import type { Command } from "commander";
import type { AnyCalculation } from "../../calculations/contract.ts";
import type { Calculations } from "../../calculations/registry.ts";
import {
  callsOf,
  countedFiles,
  estimateRun,
  type FileUse,
  type RunEstimate,
} from "../../client/estimate/estimateRun.ts";
import { billingClasses, type CallCounts } from "../../model/calls.ts";
import { InputError } from "../../model/errors.ts";
import { readSettings } from "../../model/settings.ts";
import { fileAsked, nameAsked } from "../askedCalculation.ts";
import type { Session } from "../cli.ts";
import { clientFiles } from "../clientFiles.ts";
import { calculationFailed } from "../exitCodes.ts";
import { readFreeOptions } from "../freeOptions.ts";
import { paramOption, wholeOption } from "../options.ts";
import { bytes, count, dollars, duration } from "../render/amounts.ts";
import { oneLine, paint } from "../render/text.ts";

interface Options {
  readonly param: readonly string[];
  readonly packSize?: number;
  readonly workers?: number;
}

/** `leasefold plan <calculation>`: what a run would be, take and cost, before it is paid for. Only a calculation that reads files needs storage. */
export function addPlan(program: Command, session: Session): void {
  program
    .command("plan")
    .description("what a run would be, take and cost: plans it here and times a few of its chunks")
    .argument("<calculation>", "name of a calculation, or the file of your own, such as ./mine.ts")
    .addOption(paramOption())
    .option("--pack-size <n>", "chunks per message, instead of what is measured", wholeOption)
    .option("--workers <n>", "packs computed at once, over all instances (default: 20)", wholeOption)
    .usage("<calculation> [--<parameter> <value> …] [options]")
    .allowUnknownOption()
    .allowExcessArguments()
    .action(async (calculation: string, options: Options, command: Command) => {
      const planned = await planOne(session, calculation, command.args.slice(1), options);
      if (planned.failed !== undefined) session.setExitCode(calculationFailed);
      if (session.json()) return await session.printJson(planned);
      if (planned.failed !== undefined)
        await session.note(`a chunk that was tried failed: ${oneLine(planned.failed)}`);
      await session.cli.out.write(factsText(session, planned));
      await session.note("not in it: the price of compute, and the host's own polls of empty queues");
    });
}

/** The calculation's own code runs in a thread, which Ctrl-C ends whatever it does. */
async function planOne(
  session: Session,
  asked: string,
  tokens: readonly string[],
  { param, packSize, workers }: Options,
): Promise<RunEstimate> {
  const { cli } = session;
  const file = fileAsked(cli.folder, asked);
  const calculations = await cli.calculations(file);
  const name = nameAsked(calculations, asked, file);
  const params = readFreeOptions(tokens, param, calculations.describeParams(known(calculations, name)));
  const settings = readSettings(cli.env);
  const files = countedFiles(clientFiles(() => session.client(), session.cli.env));
  const code = await cli.startThread(files.access, file);
  const stop = (): void => void code.stop();
  cli.signal.addEventListener("abort", stop, { once: true });
  try {
    const { clock } = cli;
    const request = { calculation: name, params, packSize, workers };
    return await estimateRun(request, { calculations, code, clock, settings, fileUse: files.take });
  } finally {
    cli.signal.removeEventListener("abort", stop);
    await code.stop();
  }
}

/** One that only running instances know cannot be planned by its name: this process loads what its user names. */
function known(calculations: Calculations, name: string): AnyCalculation {
  try {
    return calculations.get(name);
  } catch (error) {
    if (!(error instanceof InputError)) throw error;
    const hint = `to plan your own, give its file, such as ./${name}.ts`;
    throw new InputError("unknown", error.code, `${error.message}; ${hint}`, error.details);
  }
}

const nameWidth = 10;

function factsText({ cli }: Session, planned: RunEstimate): string {
  const head = paint(cli.out, "bold", oneLine(`${planned.calculation} ${JSON.stringify(planned.params)}`));
  const lines = factsOf(planned).map(
    ([name, text]) => `  ${paint(cli.out, "dim", name.padEnd(nameWidth))}${text}`,
  );
  return `${[head, ...lines].join("\n")}\n`;
}

function factsOf(run: RunEstimate): readonly (readonly [string, string])[] {
  const { calls, naive } = run;
  return [
    ["chunks", `${count(run.chunks)}, each about ${short(run.chunkMs)} on this machine`],
    ["packs", `${count(run.packs)} of ${count(run.packSize)}, each about ${short(run.packMs)}`],
    ["shards", count(run.shards)],
    ["compute", `${duration(run.computeS)} of one thread`],
    ["expected", `${duration(run.expectedS)} with ${count(run.workers)} packs at once (--workers)`],
    ["calls", `${count(calls.billed)}: ${callsText(calls.total)}`],
    ["", `a pack: ${callsText(calls.perPack)}; a minute of leading: ${callsText(calls.perMinute)}`],
    ...filesFacts(run),
    ["", `${calls.perChunk.toPrecision(2)} a chunk`],
    ["dollars", `${dollars(run.dollars)} for storage at list price`],
    [
      "naive",
      `${dollars(naive.dollars)} and ${count(naive.billed)} calls with a message and a blob for each chunk`,
    ],
  ];
}

/** Only a calculation that asked for files has this line. */
function filesFacts({ files: { planning, computing } }: RunEstimate): readonly (readonly [string, string])[] {
  if (planning.list + planning.read === 0) return [];
  const text = (use: FileUse): string => `${callsText(callsOf(use)) || "none"} (${bytes(use.bytes)})`;
  return [["", `files: to plan ${text(planning)}; to compute about ${text(computing)}`]];
}

/** Deletes of blobs are free and left out. */
const callsText = (calls: CallCounts): string =>
  billingClasses
    .filter((one) => one !== "delete" && calls[one] > 0)
    .map((one) => `${one} ${count(calls[one])}`)
    .join(", ");

/** A time of a few milliseconds or less keeps its digits. */
const short = (ms: number): string => (ms < 1_000 ? `${Number(ms.toPrecision(2))} ms` : duration(ms / 1_000));
