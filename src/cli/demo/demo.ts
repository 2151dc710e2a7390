import { access, constants, stat } from "node:fs/promises";
import { availableParallelism } from "node:os";
import { dirname, resolve } from "node:path";
import type { Command } from "commander";
import type { Client } from "../../client/client.ts";
import { leader } from "../../client/leader.ts";
import { findManifest } from "../../client/result.ts";
import { status } from "../../client/status.ts";
import { submit } from "../../client/submit.ts";
import { type Embedded, startEmbedded } from "../../local/embedded.ts";
import { instanceName, threadsPerInstance } from "../../local/instanceEnv.ts";
import { localFilePath, readLocalFile } from "../../local/localFile.ts";
import { makeFolder } from "../../local/makeFolder.ts";
import { StorageError } from "../../model/errors.ts";
import type { Session } from "../cli.ts";
import { failed } from "../exitCodes.ts";
import { badOption, checkRange, systemReason, wholeOption } from "../options.ts";
import { count, countOf, duration, stateText } from "../render/text.ts";
import { type ServedUi, serveUi } from "../ui/serveUi.ts";
import { portsOf } from "../ui/ui.ts";
import { chooseValue, measureSpeeds } from "./calibrate.ts";
import { type KillStage, killAndRestart, noKillYet } from "./kill.ts";
import { type DemoReport, demoReport, reportLines, saveDemoResult } from "./report.ts";
import { type DemoOutput, demoOutput } from "./screen.ts";
import { makeTracker } from "./tracker.ts";

/** So many fit on a screen of 24 lines. */
const instancesMax = 8;
/** The maximum of `primes`. */
const toMax = 1e14;

/** `leasefold demo`: a run on instances on this machine, with its leader killed on the way. */
export function addDemo(program: Command, session: Session): void {
  program
    .command("demo")
    .description("count primes with instances on this machine, and kill the leader halfway")
    .option("--to <n>", "count up to this number, instead of one that takes about half a minute", wholeOption)
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

const cores = availableParallelism();

interface Stage extends KillStage {
  readonly session: Session;
  readonly options: DemoOptions;
  readonly client: Client;
  readonly output: DemoOutput;
  readonly startedMs: number;
}

const pollMs = 250;
/** Consecutive polls that storage may refuse as busy. */
const busyMax = 40;

/**
 * The whole demo on its screen: starts storage and instances, counts, kills, saves the result and stops everything.
 * Undefined after Ctrl-C or a failed run. No process is left in any case.
 */
async function runDemo(session: Session, options: DemoOptions): Promise<DemoReport | undefined> {
  const { cli } = session;
  const { instances } = options;
  session.stopMs = 15_000;
  // Other commands go on finding the instances of a running `up`, and not those of the demo.
  const localFile = await localFilePath(cli.env, cli.folder);
  const stateFile = (await readLocalFile(localFile)).kind === "found" ? undefined : localFile;
  const screen = session.json() ? { ...cli.err, isTty: false } : cli.out;
  const now = () => cli.clock.monotonicMs();
  const startedMs = now();
  const tracker = makeTracker({
    names: Array.from({ length: instances }, (_, index) => instanceName(index)),
    ...{ cores, threads: threadsPerInstance(cores, instances), startedMs },
  });
  const note: KillStage["note"] = (text, mood = "plain") => output.note(tracker.note(text, mood, now()));
  const output = demoOutput(screen, () => tracker.view(now()));
  cli.signal.addEventListener("abort", () => tracker.enter("stopping"));
  let embedded: Embedded | undefined;
  let ui: ServedUi | undefined;
  try {
    tracker.enter("starting Azurite and the instances");
    const onEvent: Parameters<typeof startEmbedded>[0]["onEvent"] = (event) => tracker.onEvent(event, now());
    embedded = await startEmbedded({ instances, stateFile, stopGraceMs: 3_000, onEvent });
    const what = `Azurite and ${countOf(instances, "instance")}`;
    const hint = stateFile === undefined ? "" : " (inspect: leasefold show)";
    note(`${what} started in ${duration(embedded.startMs / 1_000)}${hint}`);
    const client = await cli.connect({ connection: embedded.connectionString });
    // Served by this process: an instance that serves it may be the leader that is killed.
    ui = await serveUi({
      host: { readOnly: () => false, ports: () => portsOf(session, client) },
      port: { number: 0, wish: true },
      log: { warn: () => undefined, error: () => undefined },
    });
    tracker.serves(ui.address);
    // Alone on its line, so that no screen cuts it.
    if (!screen.isTty) output.note({ atMs: now() - startedMs, text: ui.address, mood: "plain" });
    const stage = { session, options, tracker, embedded, client, output };
    return await countPrimes({ ...stage, startedMs, now, note });
  } finally {
    await output.end();
    if (cli.signal.aborted) await session.note("stopping, nothing is left behind …");
    await ui?.stop();
    await embedded?.stop();
  }
}

async function countPrimes(stage: Stage): Promise<DemoReport | undefined> {
  const { session, options, tracker, client } = stage;
  const to = options.to ?? (await chooseTo(stage));
  if (to === undefined || session.cli.signal.aborted) return undefined;
  tracker.enter("planning");
  const { run } = await submit(client, { calculation: "primes", params: { to } });
  tracker.submitted(to);

  const watched = await untilEnded(stage, run);
  if (watched === undefined) return undefined;
  const { view, kill } = watched;
  if (view.phase !== "complete") {
    await stage.output.end();
    await session.note(`the run is ${stateText(view)}: ${view.error?.message ?? "no reason given"}`);
    session.exitCode = failed;
    return undefined;
  }
  if (options.kill && kill.killed === undefined) stage.note("the run ended before a leader could be killed");
  const saved = await saveDemoResult(session.cli, client, await findManifest(client, run), options.out);
  const { primes, manifestFile } = saved;
  const times = {
    startUpS: stage.embedded.startMs / 1_000,
    totalS: (stage.now() - stage.startedMs) / 1_000,
  };
  return demoReport({ to, primes, file: options.out, manifestFile }, times, watched, tracker.hostCalls());
}

/** A value that keeps this machine busy for about half a minute; undefined after Ctrl-C. */
async function chooseTo({ session, options, tracker, note }: Stage): Promise<number | undefined> {
  const { clock, signal } = session.cli;
  tracker.enter("measuring how fast this machine counts");
  const threads = options.instances * threadsPerInstance(cores, options.instances);
  const speeds = await measureSpeeds(clock, signal);
  if (signal.aborted) return undefined;
  const { to, seconds } = chooseValue(speeds, Math.min(cores, threads));
  note(`${count(to)} should take about ${duration(seconds)} here`);
  return to;
}

/** Polls the run until it has ended, and kills on the way. Undefined after Ctrl-C. */
async function untilEnded(stage: Stage, run: string) {
  const { session, options, tracker, client, now, note } = stage;
  const { clock, signal } = session.cli;
  let kill = noKillYet;
  let busy = 0;
  let isBroken = false;
  // A client would retry for a long time if storage is gone.
  const broken = stage.embedded.broken.then((why) => {
    isBroken = true;
    throw new StorageError("busy", "", undefined, why);
  });
  broken.catch(() => undefined);
  while (!signal.aborted) {
    try {
      const polled = Promise.all([status(client, run), leader(client)]);
      const [view, seen] = await Promise.race([polled, broken]);
      busy = 0;
      const before = tracker.leader();
      tracker.seeLeader(seen, now());
      const leads = tracker.leader();
      // The takeover after the kill is noted with its time.
      const isTakeover = kill.killed !== undefined && kill.takeover === undefined;
      if (leads !== undefined && leads.term !== before?.term && !isTakeover)
        note(`${leads.name} won the lease and leads in term ${leads.term}`);
      tracker.seeRun(view, now());
      if (!view.active) return { view, kill };
    } catch (error) {
      busy += 1;
      const isBusy = error instanceof StorageError && error.kind === "busy" && !isBroken;
      if (!isBusy || busy > busyMax) throw error;
    }
    if (options.kill) kill = await killAndRestart(stage, kill);
    await clock.sleep(pollMs, signal);
  }
  return undefined;
}
