import type { Client } from "../../client/client.ts";
import { leader } from "../../client/leader.ts";
import { findManifest } from "../../client/result.ts";
import type { RunView } from "../../client/runView.ts";
import { status } from "../../client/status.ts";
import { submit } from "../../client/submit.ts";
import { type Embedded, startEmbedded } from "../../local/embedded.ts";
import { instanceName, threadsPerInstance } from "../../local/instanceEnv.ts";
import { StorageError } from "../../model/errors.ts";
import type { Session } from "../cli.ts";
import { failed } from "../exitCodes.ts";
import { count, duration, type Screen } from "../render/text.ts";
import { chooseValue, measureSpeeds } from "./calibrate.ts";
import { type KillStage, type KillState, killAndRestart, noKillYet } from "./kill.ts";
import { type DemoReport, reportOf, saveDemoResult } from "./report.ts";
import { type DemoOutput, demoOutput } from "./screen.ts";
import { makeTracker } from "./tracker.ts";

export interface DemoOptions {
  readonly to?: number | undefined;
  readonly instances: number;
  readonly kill: boolean;
  readonly out: string;
  readonly cores: number;
  /** Where other commands find the instances. */
  readonly stateFile: string | undefined;
  readonly screen: Screen;
}

/** What the steps of the demo share. */
interface Stage extends KillStage {
  readonly session: Session;
  readonly options: DemoOptions;
  readonly embedded: Embedded;
  readonly client: Client;
  readonly output: DemoOutput;
}

const pollMs = 250;
/** Consecutive polls that storage may refuse as busy. */
const busyMax = 40;

/**
 * The whole demo on its screen: starts storage and instances, counts, kills, saves the result and stops everything.
 * Undefined after Ctrl-C or a failed run. No process is left in any case.
 */
export async function runDemo(session: Session, options: DemoOptions): Promise<DemoReport | undefined> {
  const { cli } = session;
  const { instances, cores, stateFile } = options;
  const now = () => cli.clock.monotonicMs();
  const startedMs = now();
  const tracker = makeTracker({
    names: Array.from({ length: instances }, (_, index) => instanceName(index)),
    ...{ cores, threads: threadsPerInstance(cores, instances), startedMs },
    onNote: (note) => output.note(note),
  });
  const note: KillStage["note"] = (text, mood = "plain") => tracker.note(text, mood, now());
  const output = demoOutput(options.screen, () => tracker.view(now()));
  cli.signal.addEventListener("abort", () => tracker.enter("stopping"));
  let embedded: Embedded | undefined;
  try {
    tracker.enter("starting Azurite and the instances");
    const onEvent: Parameters<typeof startEmbedded>[0]["onEvent"] = (event) => tracker.onEvent(event, now());
    embedded = await startEmbedded({ instances, stateFile, stopGraceMs: 3_000, onEvent });
    const what = `Azurite and ${instances} ${instances === 1 ? "instance" : "instances"}`;
    const hint = stateFile === undefined ? "" : " (inspect: leasefold show)";
    note(`${what} started in ${duration(embedded.startMs / 1_000)}${hint}`);
    const client = await cli.connect({ connection: embedded.connectionString });
    const stage = { session, options, tracker, embedded, instances: embedded.instances, client, output };
    const report = await countPrimes({ ...stage, now, note });
    await output.end();
    return report === undefined ? undefined : { ...report, totalS: (now() - startedMs) / 1_000 };
  } finally {
    await output.end();
    if (cli.signal.aborted) await session.note("stopping, nothing is left behind …");
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
    await session.note(`the run is ${view.word}: ${view.error?.message ?? "no reason given"}`);
    session.exitCode = failed;
    return undefined;
  }
  if (options.kill && kill.killed === undefined) stage.note("the run ended before a leader could be killed");
  const saved = await saveDemoResult(session.cli, client, await findManifest(client, run), options.out);
  const { startMs } = stage.embedded;
  return reportOf({ to, view, kill, saved, startMs, hostCalls: tracker.hostCalls(), out: options.out });
}

/** A value that keeps this machine busy for about half a minute; undefined after Ctrl-C. */
async function chooseTo({ session, options, tracker, note }: Stage): Promise<number | undefined> {
  const { clock, signal } = session.cli;
  tracker.enter("measuring how fast this machine counts");
  const threads = options.instances * threadsPerInstance(options.cores, options.instances);
  const speeds = await measureSpeeds(clock, signal);
  if (signal.aborted) return undefined;
  const { to, seconds } = chooseValue(speeds, Math.min(options.cores, threads));
  note(`${count(to)} should take about ${duration(seconds)} here`);
  return to;
}

/** The demo's own storage has ended. */
class BrokenError extends StorageError {
  constructor(why: string) {
    super("busy", "", undefined, why);
  }
}

/** Polls the run until it has ended, and kills on the way. Undefined after Ctrl-C. */
async function untilEnded(
  stage: Stage,
  run: string,
): Promise<{ readonly view: RunView; readonly kill: KillState } | undefined> {
  const { session, options, tracker, client, now, note } = stage;
  const { clock, signal } = session.cli;
  let kill = noKillYet;
  let busy = 0;
  // A client would retry for a long time if storage is gone.
  const broken = stage.embedded.broken.then((why) => Promise.reject(new BrokenError(why)));
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
      const isBusy =
        error instanceof StorageError && error.kind === "busy" && !(error instanceof BrokenError);
      if (!isBusy || busy > busyMax) throw error;
    }
    if (options.kill) kill = await killAndRestart(stage, kill);
    await clock.sleep(pollMs, signal);
  }
  return undefined;
}
