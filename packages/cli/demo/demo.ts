import { access, constants, stat } from "node:fs/promises";
import { availableParallelism } from "node:os";
import { dirname, resolve } from "node:path";
import type { Command } from "commander";
import type { Client } from "../../../src/engine/client/client.ts";
import type { LeaderView } from "../../../src/engine/client/leader.ts";
import { findManifest } from "../../../src/engine/client/result.ts";
import { StorageError } from "../../../src/engine/model/errors.ts";
import type { Leasefold } from "../../client/leasefoldClient.ts";
import { apiHere, portsOf } from "../api.ts";
import type { Session } from "../cli.ts";
import { failed } from "../exitCodes.ts";
import { type Embedded, startEmbedded } from "../local/embedded.ts";
import { instanceName, threadsPerInstance } from "../local/instanceEnv.ts";
import { localFilePath, readLocalFile } from "../local/localFile.ts";
import { makeFolder } from "../local/makeFolder.ts";
import { badOption, checkRange, systemReason, wholeOption } from "../options.ts";
import { shareOf } from "../render/progress.ts";
import { clockText, type Note } from "../render/runScreen.ts";
import { count, countOf, duration, stateText } from "../render/text.ts";
import { type ServedUi, serveUi } from "../ui/serveUi.ts";
import { watchRun } from "../watchRun.ts";
import { instanceTrack } from "./instanceTrack.ts";
import { killAndRestart, noKillYet, type Tell } from "./kill.ts";
import { valueFor } from "./published.ts";
import { type DemoReport, demoReport, reportLines, saveDemoResult } from "./report.ts";

/** So many fit on a screen of 24 lines. */
const instancesMax = 8;
/** The maximum of `primes`. */
const toMax = 1e14;
const pollMs = 250;
const cores = availableParallelism();

/** `leasefold demo`: `up`, `submit`, and the live screen of the run, with its leader killed on the way. */
export function addDemo(program: Command, session: Session): void {
  program
    .command("demo")
    .description("count primes with instances on this machine, and kill the leader halfway")
    .option("--to <n>", "count up to this number, instead of one that suits the number of cores", wholeOption)
    .option("--instances <n>", "number of instances", wholeOption, 3)
    .option("--no-kill", "do not kill the leader")
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

interface DemoOptions {
  readonly to?: number;
  readonly instances: number;
  readonly kill: boolean;
  readonly out: string;
}

interface Stage {
  readonly session: Session;
  readonly options: DemoOptions;
  readonly client: Client;
  readonly api: Leasefold;
  readonly embedded: Embedded;
  readonly tracks: ReadonlyMap<string, ReturnType<typeof instanceTrack>>;
  readonly address: string;
  readonly startedMs: number;
  readonly notes: readonly Note[];
  readonly tell: Tell;
}

/**
 * Starts storage and instances, counts, kills, saves the result and stops everything. Undefined after Ctrl-C or a failed
 * run. No process is left in any case.
 */
async function runDemo(session: Session, options: DemoOptions): Promise<DemoReport | undefined> {
  const { cli } = session;
  const { instances } = options;
  session.stopMs = 15_000;
  // Other commands go on finding the instances of a running `up`, and not those of the demo.
  const localFile = await localFilePath(cli.env, cli.folder);
  const stateFile = (await readLocalFile(localFile)).kind === "found" ? undefined : localFile;
  const startedMs = cli.clock.monotonicMs();
  const screen = screenOf(session);
  const notes: Note[] = [];
  const tell: Tell = (text, style) => {
    const atMs = cli.clock.monotonicMs() - startedMs;
    notes.push({ atMs, text, ...(style === undefined ? {} : { style }) });
    if (!screen.isTty) void screen.write(`${clockText(atMs)}  ${text}\n`);
  };
  const threads = threadsPerInstance(cores, instances);
  const names = Array.from({ length: instances }, (_, index) => instanceName(index));
  const tracks = new Map(names.map((name) => [name, instanceTrack(name, threads)]));
  let embedded: Embedded | undefined;
  let ui: ServedUi | undefined;
  try {
    if (screen.isTty) await screen.write("starting Azurite and the instances …\n");
    const onEvent: Parameters<typeof startEmbedded>[0]["onEvent"] = (event) =>
      tracks.get(event.instance)?.onEvent(event);
    embedded = await startEmbedded({ instances, stateFile, stopGraceMs: 3_000, onEvent });
    const hint = stateFile === undefined ? "" : " (inspect: leasefold show)";
    tell(
      `Azurite and ${countOf(instances, "instance")} started in ${duration(embedded.startMs / 1_000)}${hint}`,
    );
    const client = await cli.connect({ connection: embedded.connectionString });
    const ports = portsOf(session, client);
    // Served by this process: an instance that serves it may be the leader that is killed.
    ui = await serveUi({
      host: { readOnly: () => false, ports: () => ports },
      port: { number: 0, wish: true },
      log: { warn: () => undefined, error: () => undefined },
    });
    // Alone on its line, so that no screen cuts it.
    if (!screen.isTty) tell(ui.address);
    const { address } = ui;
    return await countPrimes({
      session,
      options,
      client,
      api: apiHere(ports),
      embedded,
      tracks,
      address,
      startedMs,
      notes,
      tell,
    });
  } finally {
    if (cli.signal.aborted) await session.note("stopping, nothing is left behind …");
    await ui?.stop();
    await embedded?.stop();
  }
}

const screenOf = (session: Session) =>
  session.json() ? { ...session.cli.err, isTty: false } : session.cli.out;

async function countPrimes(stage: Stage): Promise<DemoReport | undefined> {
  const { session, options, client, api, tracks, address, notes, tell, embedded } = stage;
  const { clock, signal } = session.cli;
  const to = options.to ?? valueFor(cores);
  if (signal.aborted) return undefined;
  const { id: run } = await api.submit("primes", { to });
  const broken = embedded.broken.then((why) => {
    throw new StorageError("refused", "", undefined, why);
  });
  broken.catch(() => undefined);
  let kill = noKillYet;
  let leads: { readonly name: string; readonly term: number } | undefined;
  const see = (leader: LeaderView): void => {
    if (leader.kind !== "leading" || leader.term === leads?.term) return;
    leads = { name: leader.holder, term: leader.term };
    // The takeover after the kill is noted with its time.
    if (kill.killed === undefined || kill.takeover !== undefined)
      tell(`${leads.name} won the lease and leads in term ${leads.term}`);
  };
  const view = await watchRun(session, api, run, screenOf(session), {
    about: `primes up to ${count(to)}, ${countOf(cores, "core")}`,
    everyMs: pollMs,
    workers: (active) => [...tracks].map(([name, track]) => track.fact(active && name === leads?.name)),
    async onPoll(now, leader) {
      see(leader);
      if (!options.kill || !now.active) return;
      const facts = {
        nowMs: clock.monotonicMs(),
        share: now.packs === undefined ? 0 : shareOf(now),
        leader: leads,
      };
      kill = await killAndRestart(embedded.instances, facts, kill, tell);
    },
    address,
    notes,
    broken,
  });
  if (view.active) return undefined;
  if (view.phase !== "complete") {
    await session.note(`the run is ${stateText(view)}: ${view.error?.message ?? "no reason given"}`);
    session.exitCode = failed;
    return undefined;
  }
  if (options.kill && kill.killed === undefined) tell("the run ended before a leader could be killed");
  const saved = await saveDemoResult(session.cli, client, await findManifest(client, run), options.out);
  const totalS = (clock.monotonicMs() - stage.startedMs) / 1_000;
  const times = { startUpS: embedded.startMs / 1_000, totalS };
  return demoReport({ to, file: options.out, ...saved }, times, { view, kill });
}
