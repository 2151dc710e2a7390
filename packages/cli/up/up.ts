import { createServer } from "node:net";
import { resolve } from "node:path";
import type { Command } from "commander";
import { namedFiles, withPackaged } from "../../../src/engine/calculation/ownFiles.ts";
import { describeCalculation } from "../../../src/engine/client/describeCalculations.ts";
import { InputError, messageOf, StorageError } from "../../../src/engine/model/errors.ts";
import { calculationsHere } from "../askedCalculation.ts";
import type { Session } from "../cli.ts";
import { type ConnectOptions, checkNamespace } from "../connect.ts";
import { loadFiles } from "../loadFiles.ts";
import { type DataFolder, openData } from "../local/dataFolder.ts";
import { type Embedded, startEmbedded } from "../local/embedded.ts";
import type { InstanceEvent } from "../local/instances.ts";
import { localFilePath, readLocalFile } from "../local/localFile.ts";
import { findUserApp } from "../local/userApp.ts";
import type { Env } from "../local/userFolders.ts";
import { badOption, checkRange, envOption, isSystemError, systemReason, wholeOption } from "../options.ts";
import { addressLines, instanceLine, nextStep } from "../render/instances.ts";
import { clockTime, duration, paint } from "../render/text.ts";
import { dashboardAddress } from "../ui/serveUi.ts";
import { addCalculation, addedFiles } from "./addCalculation.ts";
import { detachUp } from "./detachUp.ts";
import { followFiles } from "./followFiles.ts";

interface Options extends ConnectOptions {
  readonly instances: number;
  readonly data?: string;
  readonly port?: number;
  readonly calculation?: readonly string[];
  readonly add?: string;
  readonly watch?: boolean;
  readonly detach?: boolean;
}

/** More instances on one machine only compete for its cores. */
const instancesMax = 16;
/** Instances drain for some seconds; one that takes longer is killed. */
const stopMs = 15_000;

/** `leasefold up`: storage and instances on this machine until Ctrl-C. */
export function addUp(program: Command, session: Session): void {
  program
    .command("up")
    .description("run storage and instances of the app on this machine, until Ctrl-C")
    .option("--instances <n>", "number of instances", wholeOption, 3)
    .option(
      "--data <name>",
      "keep the storage under this name in your state folder (LEASEFOLD_STATE_DIR) between starts, instead of in memory",
    )
    .option("--port <p>", "HTTP port of the first instance; the others follow it", wholeOption)
    .option("--calculation <file...>", "files of your own calculations")
    .addOption(envOption())
    .option("--add <file>", "load one more file of a calculation into the running instances, and end")
    .option(
      "--watch",
      "reload the files of --calculation and what they import when they change, half of the instances at a time",
    )
    .option("--detach", 'run in the background; "leasefold down" stops it')
    .action(async (_options: unknown, command: Command) => {
      const options = command.optsWithGlobals<Options>();
      if (options.add !== undefined) return await add(session, options.add, options);
      const { files, data, next } = await check(session, options);
      if (options.detach === true) await detachUp(session, argumentsOf(options, files), data?.location, next);
      else await up(session, options, files, data, next);
    });
}

async function add(session: Session, given: string, options: Options): Promise<void> {
  const { name, added, ...own } = await addCalculation(session, given, options);
  if (session.json()) return await session.printJson({ name, code: own.code, added });
  await session.print(added ? `the instances have ${name} now` : `the instances have ${name} already`);
  await session.print(`now: ${nextStep(session.cli.folder, own)}`);
}

/** Checks all options before anything starts. Returns the files of calculations, absolute, and the command that comes next. */
async function check(session: Session, options: Options) {
  const { env, folder } = session.cli;
  if (options.namespace !== undefined) checkNamespace(options.namespace);
  checkRange("instances", options.instances, 1, instancesMax);
  const found = await readLocalFile(await localFilePath(env, folder));
  if (found.kind === "found") {
    const { supervisorPid, instances } = found.local;
    const one = instances.length === 1;
    const what = one ? "1 instance runs" : `${instances.length} instances run`;
    const stop = `"leasefold down" stops ${one ? "it" : "them"}`;
    const message = `${what} in this folder already (process ${supervisorPid}); ${stop}`;
    throw new InputError("conflict", "already-up", message);
  }
  await checkPorts(options.port, options.instances);
  const data = options.data === undefined ? undefined : await keptData(options.data, env);
  const asked = (options.calculation ?? []).map((file) => resolve(folder, file));
  const named = [...new Set([...namedFiles(env["LEASEFOLD_CALCULATIONS"], folder), ...asked])];
  const files = withPackaged(named, calculationsHere(folder));
  const bad = files.find((file) => file.includes(","));
  if (bad !== undefined) throw badOption("calculation", `${bad}: a path must not contain a comma`);
  if (options.watch === true && files.length === 0)
    throw badOption("watch", "needs --calculation: there is no file to watch");
  const calculations = await loadFiles(files, session.cli);
  const [file, last] = [files.at(-1), calculations.list().at(-1)];
  const own =
    file === undefined || last === undefined
      ? undefined
      : { file, ...describeCalculation(calculations, last) };
  return { files, data, next: nextStep(folder, own) };
}

const keptData = (name: string, env: Env): Promise<DataFolder> =>
  openData(name, env).catch((cause: unknown) => {
    throw isSystemError(cause) ? badOption("data", `${name}: ${systemReason(cause)}`) : cause;
  });

/** Each instance uses one port, from `first` on. */
async function checkPorts(first: number | undefined, instances: number): Promise<void> {
  if (first === undefined) return;
  checkRange("port", first, 1, 65_536 - instances);
  for (let port = first; port < first + instances; port += 1) {
    if (!(await isFree(port))) throw badOption("port", `${port}: the port is in use`);
  }
}

const isFree = (port: number): Promise<boolean> =>
  new Promise((done) => {
    const server = createServer();
    server.once("error", () => done(false));
    server.listen(port, "127.0.0.1", () => server.close(() => done(true)));
  });

async function up(
  session: Session,
  options: Options,
  calculations: readonly string[],
  data: DataFolder | undefined,
  next: string,
): Promise<void> {
  const { cli } = session;
  session.stopMs = stopMs;
  let isUp = false;
  let noneRuns = false;
  const ready = Promise.withResolvers<void>();
  /** Lines of instances wait for the first lines of all. */
  const print = (line: string): void => {
    if (!session.json()) void ready.promise.then(() => session.print(line));
  };
  const printNow = (line: string): void => {
    print(`${paint(cli.out, "dim", clockTime(cli.clock.wallMs()))}  ${line}`);
  };
  const onEvent = (event: InstanceEvent): void => {
    // States are no news while all instances start or all stop.
    const isNews = event.kind !== "state" || (isUp && !cli.signal.aborted);
    const line = isNews ? instanceLine(event) : undefined;
    if (line !== undefined) printNow(line);
    if (!isUp || event.kind !== "state") return;
    const before = noneRuns;
    noneRuns = embedded.instances.instances.every(({ down }) => down !== undefined);
    // The reason why a run makes no progress.
    if (noneRuns && !before) print("no instance runs: runs wait until one can be started again");
  };
  const stateFile = await localFilePath(cli.env, cli.folder);
  const added = addedFiles(stateFile);
  await added.clear();
  const files = [...calculations];
  const embedded = await startEmbedded({
    instances: options.instances,
    httpPort: options.port,
    data,
    appDir: findUserApp(cli.folder)?.appDir,
    calculations: files,
    namespace: options.namespace,
    watch: options.watch,
    stateFile,
    onEvent,
  });
  try {
    await tellReady(session, embedded, data?.location, next);
    isUp = true;
    ready.resolve();
    const here = () => withPackaged([], findUserApp(cli.folder)?.calculations);
    const following = { files, here, watch: options.watch === true, added };
    followFiles(cli, following, embedded.instances, printNow).catch((error) =>
      printNow(`files are no longer followed: ${messageOf(error)}`),
    );
    await untilStopped(session, embedded);
    if (!session.json()) await session.print("stopping …");
  } finally {
    await embedded.stop();
    await added.clear();
  }
}

async function tellReady(
  session: Session,
  embedded: Embedded,
  data: string | undefined,
  next: string,
): Promise<void> {
  const { instances, functionKey } = embedded.instances;
  if (session.json()) {
    const shown = instances.map(({ name, pid, httpUrl }) => ({ name, pid, httpUrl }));
    return await session.printJson({ instances: shown, startMs: Math.round(embedded.startMs) });
  }
  const { connectionString, startMs } = embedded;
  const server = instances[0]?.httpUrl;
  const dashboard = server === undefined ? undefined : dashboardAddress(server, functionKey);
  // The address has the key, which a log would keep.
  const seen = session.cli.out.isTty ? dashboard : undefined;
  const shown = addressLines({ connectionString, instances }, data, seen);
  for (const line of shown) await session.print(line);
  const then = session.cli.out.isTty ? "Ctrl-C stops them" : '"leasefold down" stops them';
  await session.print(`ready in ${duration(startMs / 1_000)}; ${then}`);
  await session.print(`now, in another terminal: ${next}`);
}

/** Until Ctrl-C, or until storage has ended, which is an error. */
async function untilStopped(session: Session, embedded: Embedded): Promise<void> {
  const why = await Promise.race([session.stopped(), embedded.broken]);
  // Ctrl-C may also have ended the storage.
  if (why === undefined || session.cli.signal.aborted) return;
  throw new StorageError("busy", "", undefined, `${why}; everything is stopped`);
}

const argumentsOf = (
  { instances, data, port, watch, namespace }: Options,
  calculations: readonly string[],
): readonly string[] => [
  ...["up", "--instances", String(instances)],
  ...(data === undefined ? [] : ["--data", data]),
  ...(port === undefined ? [] : ["--port", String(port)]),
  ...(watch === true ? ["--watch"] : []),
  ...calculations.flatMap((file) => ["--calculation", file]),
  ...(namespace === undefined ? [] : ["--namespace", namespace]),
];
