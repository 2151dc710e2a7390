import { access, constants, stat } from "node:fs/promises";
import { availableParallelism } from "node:os";
import { dirname, resolve } from "node:path";
import type { Command } from "commander";
import { localFilePath, readLocalFile } from "../../local/localFile.ts";
import type { Session } from "../cli.ts";
import { failed } from "../exitCodes.ts";
import { badOption, checkRange, systemCode, wholeOption } from "../options.ts";
import { reportLines } from "./report.ts";
import { runDemo } from "./runDemo.ts";

interface Options {
  readonly to?: number;
  readonly instances: number;
  readonly kill: boolean;
  readonly out: string;
}

/** So many fit on a screen of 24 lines. */
const instancesMax = 8;
/** The maximum of `primes`. */
const toMax = 1e14;
const stopMs = 15_000;

/** `leasefold demo`: a run on instances on this machine, with its leader killed on the way. */
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
      session.stopMs = stopMs;
      const { cli } = session;
      // Other commands go on finding the instances of a running `up`, and not those of the demo.
      const stateFile = await localFilePath(cli.env, cli.folder);
      const isUp = (await readLocalFile(stateFile)).kind === "found";
      const report = await runDemo(session, {
        ...options,
        cores: availableParallelism(),
        stateFile: isUp ? undefined : stateFile,
        screen: session.json() ? { ...cli.err, isTty: false } : cli.out,
      });
      if (report === undefined) return;
      if (report.correct === false) session.exitCode = failed;
      if (session.json()) return await session.printJson(report);
      for (const line of reportLines(report, cli.out)) await session.print(line);
    });
}

/** Checks the options before anything starts, and that the file can be written, as the demo takes a minute. */
async function check({ cli }: Session, { to, instances, out }: Options): Promise<void> {
  checkRange("instances", instances, 1, instancesMax);
  checkRange("to", to, 0, toMax);
  const path = resolve(cli.folder, out);
  const found = await stat(path).catch(() => undefined);
  if (found?.isDirectory() === true) throw badOption("out", `${out}: must be a file, and this is a folder`);
  try {
    await access(await folderAbove(path), constants.W_OK);
  } catch (cause) {
    throw badOption("out", `cannot write ${out} (${systemCode(cause)})`);
  }
}

/** The nearest folder that exists; those between are made with the file. */
async function folderAbove(path: string): Promise<string> {
  const folder = dirname(path);
  const found = await stat(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "ENOENT") throw error;
    return undefined;
  });
  if (found === undefined) return await folderAbove(folder);
  if (!found.isDirectory()) throw Object.assign(new Error(`${folder} is no folder`), { code: "ENOTDIR" });
  return folder;
}
