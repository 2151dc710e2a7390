import { systemClock } from "../../../src/engine/storage/system.ts";
import { knownCalculations } from "../askedCalculation.ts";
import type { Cli } from "../cli.ts";
import { runCommand } from "../program.ts";
import { type Ended, printed } from "./cliWorld.ts";

/** Runs one command line in real time, in a folder, without any storage: for commands with files and threads of their own. */
export async function runAlone(
  line: string,
  folder: string,
  signal = new AbortController().signal,
): Promise<Ended> {
  const [out, err] = [printed(), printed()];
  const cli: Cli = {
    ...{ env: {}, folder, out, err, clock: systemClock, signal },
    connect: () => Promise.reject(new Error("nothing is to be opened")),
    calculations: () => knownCalculations({ env: {}, folder }),
    instances: async () => undefined,
    startThread: () => Promise.reject(new Error("nothing is to be started")),
  };
  const exitCode = await runCommand(line.split(" ").filter(Boolean), cli);
  return { exitCode, out: out.text(), err: err.text() };
}
