import { access, constants, stat } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import type { Command } from "commander";
import { makeFolder } from "../../local/makeFolder.ts";
import type { Session } from "../cli.ts";
import { failed } from "../exitCodes.ts";
import { badOption, checkRange, systemReason, wholeOption } from "../options.ts";
import { reportLines } from "./report.ts";
import { type DemoOptions, runDemo } from "./runDemo.ts";

/** So many fit on a screen of 24 lines. */
const instancesMax = 8;
/** The maximum of `primes`. */
const toMax = 1e14;

/** `leasefold demo`: a run on instances on this machine, with its leader killed on the way. */
export function addDemo(program: Command, session: Session): void {
  program
    .command("demo")
    .description("count primes on instances on this machine, and kill the leader in the middle of it")
    .option("--to <n>", "count up to this number, instead of one that takes about half a minute", wholeOption)
    .option("--instances <n>", "how many", wholeOption, 3)
    .option("--no-kill", "let the leader live")
    .option("--out <file>", "file for the result, with its manifest beside it", "leasefold-demo/result.json")
    .action(async (options: DemoOptions) => {
      await check(session, options);
      const report = await runDemo(session, options);
      if (report === undefined) return;
      if (report.correct === false) session.exitCode = failed;
      if (session.json()) return await session.printJson(report);
      for (const line of reportLines(report, session.cli.out)) await session.print(line);
    });
}

/** Checks the options before anything starts, and makes the folder of the file, as the demo takes a minute. */
async function check({ cli }: Session, { to, instances, out }: DemoOptions): Promise<void> {
  checkRange("instances", instances, 1, instancesMax);
  checkRange("to", to, 0, toMax);
  const path = resolve(cli.folder, out);
  const found = await stat(path).catch(() => undefined);
  if (found?.isDirectory() === true) throw badOption("out", `${out}: must be a file, and this is a folder`);
  try {
    await makeFolder(dirname(path));
    await access(dirname(path), constants.W_OK);
  } catch (cause) {
    throw badOption("out", `cannot write ${out}: ${systemReason(cause)}`);
  }
}
