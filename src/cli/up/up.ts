import { mkdir } from "node:fs/promises";
import { isAbsolute, resolve } from "node:path";
import type { Command } from "commander";
import { type Embedded, startEmbedded } from "../../local/embedded.ts";
import type { InstanceEvent } from "../../local/instances.ts";
import { localFilePath, readLocalFile } from "../../local/localFile.ts";
import { InputError, StorageError } from "../../model/errors.ts";
import type { ConnectOptions, Session } from "../cli.ts";
import { checkNamespace } from "../connect.ts";
import { wholeOption } from "../options.ts";
import { duration } from "../render/amounts.ts";
import { instanceLine } from "../render/instanceEvent.ts";
import { paint } from "../render/text.ts";
import { detachUp } from "./detachUp.ts";
import { checkCalculations, checkInstances, checkPorts } from "./instanceOptions.ts";
import { reloadChanged } from "./reloadChanged.ts";

interface Options extends ConnectOptions {
  readonly instances: number;
  readonly data?: string;
  readonly port?: number;
  readonly calculation: readonly string[];
  readonly watch?: boolean;
  readonly detach?: boolean;
}

/** Instances drain for some seconds; one that does not is killed. */
const stopMs = 15_000;

/** `leasefold up`: storage and instances on this machine until Ctrl-C. */
export function addUp(program: Command, session: Session): void {
  program
    .command("up")
    .description("run storage and instances of the app on this machine, until Ctrl-C")
    .option("--instances <n>", "how many", wholeOption, 3)
    .option("--data <dir>", "keep the storage in this folder between starts, instead of in memory")
    .option("--port <p>", "HTTP port of the first instance; the others follow it", wholeOption)
    .option("--calculation <file...>", "files of your own calculations", [])
    .option("--watch", "load the files of --calculation anew when they change, one instance after the other")
    .option("--detach", 'go on in the background; "leasefold down" stops it')
    .action(async (_options: unknown, command: Command) => {
      const options = command.optsWithGlobals<Options>();
      const calculations = await check(session, options);
      if (options.detach === true) await detachUp(session, argumentsOf(options, calculations));
      else await up(session, options, calculations);
    });
}

/** Everything a user can get wrong is told before anything starts. */
async function check(session: Session, options: Options): Promise<readonly string[]> {
  const { env, folder } = session.cli;
  if (options.namespace !== undefined) checkNamespace(options.namespace);
  checkInstances(options.instances);
  const found = await readLocalFile(await localFilePath(env, folder));
  if (found.kind === "found") {
    const { supervisorPid, instances } = found.local;
    const what = instances.length === 1 ? "1 instance runs" : `${instances.length} instances run`;
    const stop = `"leasefold down" stops ${instances.length === 1 ? "it" : "them"}`;
    throw new InputError(
      "conflict",
      "already-up",
      `${what} in this folder already (process ${supervisorPid}); ${stop}`,
    );
  }
  await checkPorts(options.port, options.instances);
  if (options.data !== undefined) await makeFolder(options.data, folder);
  return await checkCalculations(session.cli, options.calculation);
}

async function up(session: Session, options: Options, calculations: readonly string[]): Promise<void> {
  const { cli } = session;
  session.setStopMs(stopMs);
  const lines: string[] = [];
  let told = false;
  let noneRuns = false;
  /** Before the first line of all, what the instances say waits. */
  const tell = (line: string): void => {
    if (session.json()) return;
    if (told) void session.print(line);
    else lines.push(line);
  };
  const embedded = await startEmbedded({
    instances: options.instances,
    httpPort: options.port,
    dataDir: options.data === undefined ? undefined : resolve(cli.folder, options.data),
    calculations,
    namespace: options.namespace,
    stateFile: await localFilePath(cli.env, cli.folder),
    onEvent(event) {
      tellEvent(session, event, tell, told);
      if (!told || event.kind !== "state") return;
      const before = noneRuns;
      noneRuns = embedded.instances.instances.every(({ down }) => down !== undefined);
      // Whoever waits for a run should learn here why nothing moves.
      if (noneRuns && !before) tell("no instance runs: runs wait until one can be started again");
    },
  });
  try {
    await tellReady(session, embedded, options.data);
    told = true;
    for (const line of lines) await session.print(line);
    if (options.watch === true) {
      const { signal } = cli;
      void reloadChanged(cli, calculations, embedded.instances, signal, (line) =>
        tellNow(session, line, tell),
      );
    }
    await untilStopped(cli.signal, embedded);
    if (!session.json()) await session.print("stopping …");
  } finally {
    await embedded.stop();
  }
}

function tellNow(session: Session, line: string, tell: (line: string) => void): void {
  const time = new Date(session.cli.clock.wallMs()).toTimeString().slice(0, 8);
  tell(`${paint(session.cli.out, "dim", time)}  ${line}`);
}

function tellEvent(
  session: Session,
  event: InstanceEvent,
  tell: (line: string) => void,
  isUp: boolean,
): void {
  // While all of them start, or all of them stop, their states are no news.
  if (event.kind === "state" && (!isUp || session.cli.signal.aborted)) return;
  const line = instanceLine(event);
  if (line === undefined) return;
  tellNow(session, line, tell);
}

async function tellReady(session: Session, embedded: Embedded, data: string | undefined): Promise<void> {
  const { instances } = embedded.instances;
  if (session.json()) {
    const shown = instances.map(({ name, pid, httpUrl }) => ({ name, pid, httpUrl }));
    return await session.printJson({ instances: shown, startMs: Math.round(embedded.startMs) });
  }
  const width = Math.max(7, ...instances.map(({ name }) => name.length));
  const blobs = /BlobEndpoint=([^;]+)/.exec(embedded.connectionString)?.[1] ?? "";
  const kept = data === undefined ? "in memory" : `kept in ${data}`;
  await session.print(`${"storage".padEnd(width)}  ${blobs} (${kept})`);
  for (const { name, httpUrl } of instances) await session.print(`${name.padEnd(width)}  ${httpUrl}/api`);
  await session.print('"leasefold show" prints their API key, and a connection string for Storage Explorer');
  const then = session.cli.out.isTty ? "Ctrl-C stops them" : '"leasefold down" stops them';
  await session.print(`ready in ${duration(embedded.startMs / 1_000)}; ${then}`);
}

/** Until Ctrl-C, or until it cannot go on. */
async function untilStopped(signal: AbortSignal, embedded: Embedded): Promise<void> {
  const stopped = new Promise<undefined>((resolve) => {
    if (signal.aborted) resolve(undefined);
    signal.addEventListener("abort", () => resolve(undefined));
  });
  const why = await Promise.race([stopped, embedded.broken]);
  // Ctrl-C may have ended both in the same moment.
  if (why !== undefined && !signal.aborted) {
    throw new StorageError("busy", "", undefined, `${why}; everything is stopped`);
  }
}

async function makeFolder(data: string, folder: string): Promise<void> {
  try {
    await mkdir(resolve(folder, data), { recursive: true, mode: 0o700 });
  } catch (cause) {
    const code = (cause as NodeJS.ErrnoException).code ?? "unknown";
    throw new InputError("invalid", "bad-option", `--data: cannot make the folder ${data} (${code})`, {
      field: "data",
    });
  }
}

const argumentsOf = (options: Options, calculations: readonly string[]): readonly string[] => [
  ...["up", "--instances", String(options.instances)],
  ...(options.data === undefined ? [] : ["--data", options.data]),
  ...(options.port === undefined ? [] : ["--port", String(options.port)]),
  ...(options.watch === true ? ["--watch"] : []),
  ...calculations.flatMap((file) => ["--calculation", isAbsolute(file) ? file : resolve(file)]),
  ...(options.namespace === undefined ? [] : ["--namespace", options.namespace]),
];
