import { availableParallelism } from "node:os";
import type { Command } from "commander";
import { countOf } from "../../../src/engine/model/figures.ts";
import { readSettings } from "../../../src/engine/model/settings.ts";
import { calculationFiles, fileAsked } from "../askedCalculation.ts";
import type { Session } from "../cli.ts";
import { type ConnectOptions, checkNamespace, findStorage, namespaceOf } from "../connect.ts";
import { loadFiles } from "../loadFiles.ts";
import { type FleetMember, startFleetMember } from "../local/fleetMember.ts";
import {
  badOption,
  checkRange,
  durationOption,
  envOption,
  isSystemError,
  systemReason,
  wholeOption,
} from "../options.ts";
import { instanceLine } from "../render/instances.ts";
import { clockTime, paint } from "../render/text.ts";

interface Options extends ConnectOptions {
  readonly threads?: number;
  readonly calculation?: readonly string[];
  readonly lead?: boolean;
  readonly idle?: number;
  readonly health?: number;
}

/** As many as the setting LEASEFOLD_THREADS takes. */
const threadsMax = 256;
/** Longer waits are not told from none. */
const idleMsMax = 7 * 86_400_000;
const stopMs = 15_000;

/** `leasefold work`: this machine computes for an installation, until Ctrl-C or until there is no more work. */
export function addWork(program: Command, session: Session): void {
  program
    .command("work")
    .description("compute on this machine for the app of a storage account, until Ctrl-C")
    .option("--threads <n>", "packs at once (default: the cores of this machine)", wholeOption)
    .option(
      "--calculation <name|file...>",
      "compute these only: names, or files of your own (default: all that are known here)",
    )
    .addOption(envOption())
    .option("--lead", "also race for the lease, so that no Functions app is needed")
    .option("--idle <duration>", "end after so long without work, such as 5m", durationOption(idleMsMax))
    .option("--health <port>", "answer 200 on this port, on all addresses, while it can work", wholeOption)
    .action(async (_options: unknown, command: Command) => {
      await work(session, command.optsWithGlobals<Options>());
    });
}

async function work(session: Session, options: Options): Promise<void> {
  const { cli } = session;
  const { threads = availableParallelism(), idle, lead = false, health } = options;
  checkRange("threads", threads, 1, threadsMax);
  checkRange("health", health, 1, 65_535);
  const namespace = checkNamespace(namespaceOf(options, cli.env));
  const { files, only } = await whatToCompute(session, options.calculation);
  const { connection, shown, settings } = await findStorage(options, cli);
  // Fails early, with one line, where the storage cannot be reached or the sign-in is not accepted.
  await session.storage();
  session.stopMs = stopMs;
  const print = async (line: string) => session.json() || (await session.print(line));
  let member: FleetMember | undefined;
  try {
    member = await startFleetMember({
      ...{ connection, storage: settings, namespace, threads, lead, only },
      calculations: files,
      idleMs: idle,
      healthPort: health,
      onEvent(event) {
        const line = event.kind === "state" && member === undefined ? undefined : instanceLine(event);
        if (line !== undefined && !cli.signal.aborted)
          void print(`${paint(cli.out, "dim", clockTime(cli.clock.wallMs()))}  ${line}`);
      },
    });
  } catch (error) {
    const isPort = isSystemError(error) && error.syscall === "listen";
    throw isPort ? badOption("health", `${health}: ${systemReason(error)}`) : error;
  }
  try {
    const { name } = member;
    const what = only === undefined ? "any calculation" : only.join(", ");
    if (session.json()) await session.printJson({ instance: name, storage: shown, threads, lead, only });
    await print(`${name} computes ${what} for ${shown}, ${countOf(threads, "pack")} at once`);
    await print(`it ${lead ? "also races" : "does not race"} to lead; Ctrl-C stops it`);
    const why = await Promise.race([session.stopped(), member.idle.then(() => "no work any more: ")]);
    await print(`${why ?? ""}stopping …`);
  } finally {
    await member.stop();
  }
}

/** The user's files, absolute, and the names that are computed; undefined for all. */
async function whatToCompute({ cli }: Session, given?: readonly string[]) {
  const asked = given ?? readSettings(cli.env).LEASEFOLD_ONLY ?? [];
  const own = asked.flatMap((one) => fileAsked(cli.folder, one) ?? []);
  const files = [...new Set([...calculationFiles(cli), ...own])];
  const bad = files.find((file) => file.includes(","));
  if (bad !== undefined) throw badOption("calculation", `${bad}: a path must not contain a comma`);
  const known = await loadFiles(files, cli);
  if (asked.length === 0) return { files };
  const ofFiles = known.list().slice(-files.length);
  const only = asked.map((one) => {
    const file = fileAsked(cli.folder, one);
    return file === undefined ? known.get(one).name : (ofFiles[files.indexOf(file)]?.name ?? one);
  });
  return { files, only: [...new Set(only)] };
}
