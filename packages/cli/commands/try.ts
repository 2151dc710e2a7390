import inspector from "node:inspector";
import { resolve } from "node:path";
import type { Command } from "commander";
import { describeParams } from "../../../src/engine/calculation/params.ts";
import { userFrames } from "../../../src/engine/calculation/placeOf.ts";
import type { Client } from "../../../src/engine/client/client.ts";
import { CalculationError, failRunCode, laterCode } from "../../../src/engine/model/errors.ts";
import { registryFor } from "../askedCalculation.ts";
import type { Session } from "../cli.ts";
import { filesHere } from "../connect.ts";
import { readFreeOptions, withSource } from "../freeOptions.ts";
import {
  badOption,
  calculationCommand,
  checkRange,
  envOption,
  folderOption,
  optionNames,
  wholeOption,
} from "../options.ts";
import { type Fact, factLines } from "../render/runDetails.ts";
import { bytes, clip, count, duration, oneLine } from "../render/text.ts";
import type { Tried } from "../try/tryChunk.ts";
import { withUserEnv } from "../try/withUserEnv.ts";

interface Options {
  readonly chunk?: number;
  readonly run?: string;
  readonly inspect?: boolean;
  readonly profile?: string;
  readonly param?: readonly string[];
  readonly folder?: string;
}

/** `leasefold try`: one chunk in this process, under a debugger or a profiler if wanted. */
export function addTry(program: Command, session: Session): void {
  calculationCommand(program, "try", "a file such as ./mine.ts, or the name of a calculation")
    .description("compute one chunk here: see what it prints, debug it, profile it")
    .option("--chunk <n>", "which one (default: 0, or with --run its first that failed)", wholeOption)
    .addOption(folderOption().conflicts("run"))
    .addOption(envOption())
    .option("--run <run>", "take parameters and recorded input of this run")
    .option("--inspect", "wait for a debugger, and stop where your compute is called")
    .option("--profile <file>", "write a CPU profile of it, such as out.cpuprofile")
    .usage("<file or name> [--<parameter> <value> …] [options]")
    .action((asked: string, options: Options, command: Command) =>
      withUserEnv((asOurs) =>
        tryOne(session, { asked, options, command }, () => asOurs(() => session.storage())),
      ),
    );
}

interface Asked {
  readonly asked: string;
  readonly options: Options;
  readonly command: Command;
}

async function tryOne(session: Session, { asked, options, command }: Asked, client: () => Promise<Client>) {
  const { run, chunk, profile, inspect = false } = options;
  if (chunk !== undefined) checkRange("chunk", chunk, 0);
  const { cli } = session;
  const { calculations, name } = await registryFor(cli, asked);
  const calculation = calculations.get(name);
  const tokens = command.args.slice(1);
  const rows = describeParams(calculation);
  const { access, source } = filesHere(cli, client, options.folder);
  const own = readFreeOptions(tokens, options.param, rows, optionNames(command));
  const given = source === undefined ? own : withSource("folder", { name, params: rows }, own, source);
  if (run !== undefined && Object.keys(given).length > 0)
    throw badOption("run", "its parameters are those of the run; give none beside it");
  const { planChunk, recordedChunk, tryChunk } = await import("../try/tryChunk.ts");
  const how = {
    access,
    clock: cli.clock,
    inspect,
    profile: profile === undefined ? undefined : resolve(cli.folder, profile),
  };
  // A chunk that never ends its turn, and the wait for a debugger, leave no handler one: the system then ends this process.
  for (const name of ["SIGINT", "SIGTERM", "SIGHUP"]) process.removeAllListeners(name);
  if (inspect) await waitForDebugger(session);
  const print = process.stdout.write;
  // What user code prints must not mix with the answer.
  process.stdout.write = process.stderr.write.bind(process.stderr);
  try {
    const planned =
      run === undefined
        ? await planChunk(calculations, calculation, given, { ...how, index: chunk ?? 0 })
        : await recordedChunk(await client(), calculations, { run, name, index: chunk });
    if (planned.other !== undefined) await session.note(planned.other);
    const tried = await tryChunk(calculation, planned, how);
    process.stdout.write = print;
    await tell(session, name, tried, profile);
  } catch (error) {
    if (error instanceof CalculationError && error.cause instanceof Error)
      for (const frame of userFrames(error.cause)) await session.note(frame.trim());
    const asked = error instanceof CalculationError ? askedText(error) : undefined;
    if (asked !== undefined) await session.note(asked);
    throw error;
  } finally {
    process.stdout.write = print;
  }
}

/** What a run would do with it. */
function askedText({ code, details }: CalculationError): string | undefined {
  if (code === failRunCode) return "it ends its run (failRun), whatever the run tolerates";
  if (code !== laterCode) return undefined;
  return `it asks to be tried again in ${details["laterS"]} s (retryLater), which is none of a run's attempts`;
}

/** Opens the inspector of this process, and waits until a debugger is there. */
async function waitForDebugger(session: Session): Promise<void> {
  inspector.open(0, "127.0.0.1");
  await session.note(
    `attach a debugger to ${inspector.url()}, such as chrome://inspect or your editor's "attach"`,
  );
  await session.note(
    "warning: until this command ends, every user of this machine may attach to that port too, and run code with your rights",
  );
  inspector.waitForDebugger();
}

/** Of an input and a partial; --json has all. */
const shownMax = 500;

async function tell(session: Session, name: string, tried: Tried, profile?: string): Promise<void> {
  const { index, count: chunks, input, computeMs, filesMs, fileBytes, partial, planMs } = tried;
  const text = Buffer.from(partial).toString();
  const value = parsed(text);
  const partialBytes = partial.length;
  if (session.json())
    return await session.printJson({ calculation: name, ...tried, partial: value, partialBytes, profile });
  const { out } = session.cli;
  const shown = (one: unknown) =>
    clip(oneLine(JSON.stringify(one) ?? "none"), Math.min(out.columns - 12, shownMax));
  const facts: Fact[] = [
    ["chunk", `${count(index)} of ${count(chunks)}`],
    ...(input === undefined ? [] : [["input", shown(input)] as const]),
    ...(planMs === undefined ? [] : [["plan", duration(planMs / 1_000)] as const]),
    ["compute", duration(computeMs / 1_000)],
    ...(fileBytes === 0
      ? []
      : [["files", `${duration(filesMs / 1_000)} of it, ${bytes(fileBytes)}`] as const]),
    ["partial", `${bytes(partialBytes)}${value === undefined ? "" : `: ${shown(value)}`}`],
    ...(profile === undefined ? [] : [["profile", profile] as const]),
  ];
  for (const line of factLines(out, facts, 9)) await session.print(line);
}

/** Undefined where the codec of the calculation writes something else. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
