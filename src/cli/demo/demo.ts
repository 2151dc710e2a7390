import { access, constants, stat } from "node:fs/promises";
import { availableParallelism } from "node:os";
import { dirname, resolve } from "node:path";
import type { Command } from "commander";
import { localFilePath, readLocalFile } from "../../local/localFile.ts";
import { InputError } from "../../model/errors.ts";
import type { Session } from "../cli.ts";
import { runFailed } from "../exitCodes.ts";
import { wholeOption } from "../options.ts";
import { reportLines } from "./report.ts";
import { runDemo } from "./runDemo.ts";

interface Options {
  readonly to?: number;
  readonly instances: number;
  readonly kill: boolean;
  readonly out: string;
}

/** They share one screen of 24 lines. */
const instancesMax = 8;
/** What `primes` takes. */
const toMax = 1e14;
const stopMs = 15_000;

/** `leasefold demo`: the main job on this machine, with the leader killed in the middle of it. */
export function addDemo(program: Command, session: Session): void {
  program
    .command("demo")
    .description("count primes on instances on this machine, and kill the leader in the middle of it")
    .option("--to <n>", "count up to this number, instead of one that takes about half a minute", wholeOption)
    .option("--instances <n>", "how many", wholeOption, 3)
    .option("--no-kill", "let the leader live")
    .option(
      "--out <file>",
      "where the result goes, with its manifest beside it",
      "leasefold-demo/result.json",
    )
    .action(async (options: Options) => {
      await check(session, options);
      session.setStopMs(stopMs);
      const { cli } = session;
      // A running `up` stays the one that other commands find; the demo is then only not found.
      const stateFile = await localFilePath(cli.env, cli.folder);
      const isUp = (await readLocalFile(stateFile)).kind === "found";
      const report = await runDemo(session, {
        ...options,
        cores: availableParallelism(),
        stateFile: isUp ? undefined : stateFile,
        screen: session.json() ? { ...cli.err, isTty: false } : cli.out,
      });
      if (report === undefined) return;
      if (report.correct === false) session.setExitCode(runFailed);
      if (session.json()) return await session.printJson(report);
      for (const line of reportLines(report, cli.out)) await session.print(line);
    });
}

/** A mistake is told before anything starts, and a file that cannot be written before a minute is spent on it. */
async function check({ cli }: Session, { to, instances, out }: Options): Promise<void> {
  if (instances < 1 || instances > instancesMax) {
    throw invalid("instances", `must be a whole number from 1 to ${instancesMax}, and ${instances} is not`);
  }
  if (to !== undefined && (to < 0 || to > toMax)) {
    throw invalid("to", `must be a whole number from 0 to ${toMax}, and ${to} is not`);
  }
  const path = resolve(cli.folder, out);
  const there = await stat(path).catch(() => undefined);
  if (there?.isDirectory() === true) throw invalid("out", `is a file to write, and ${out} is a folder`);
  try {
    await access(await folderAbove(path), constants.W_OK);
  } catch (cause) {
    throw invalid("out", `cannot write ${out} (${(cause as NodeJS.ErrnoException).code ?? "unknown"})`);
  }
}

/** The nearest one that is there; those between are made when there is something to write. */
async function folderAbove(path: string): Promise<string> {
  const folder = dirname(path);
  const there = await stat(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "ENOENT") throw error;
    return undefined;
  });
  if (there === undefined) return await folderAbove(folder);
  if (!there.isDirectory()) throw Object.assign(new Error(`${folder} is no folder`), { code: "ENOTDIR" });
  return folder;
}

const invalid = (option: string, rule: string): InputError =>
  new InputError("invalid", "bad-option", `--${option} ${rule}`, { field: option });
