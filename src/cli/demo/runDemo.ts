import { leader } from "../../client/leader.ts";
import { findManifest } from "../../client/result.ts";
import type { RunView } from "../../client/runView.ts";
import { status } from "../../client/status.ts";
import { submit } from "../../client/submit.ts";
import { type Embedded, startEmbedded } from "../../local/embedded.ts";
import { instanceName, threadsPerInstance } from "../../local/instanceEnv.ts";
import { StorageError } from "../../model/errors.ts";
import type { Session } from "../cli.ts";
import { runFailed } from "../exitCodes.ts";
import { count, duration } from "../render/amounts.ts";
import { act, type DemoOptions, type Stage, tellLeader } from "./act.ts";
import { chooseValue, measureSpeeds } from "./calibrate.ts";
import { demoOutput } from "./demoOutput.ts";
import { type KillPlan, noKillYet } from "./killPlan.ts";
import { type DemoReport, reportOf, saveDemoResult } from "./report.ts";
import { makeTracker } from "./tracker.ts";

const lookEveryMs = 250;
/** A busy moment of storage is no reason to give up; this many looks in a row are. */
const busyMax = 40;

/**
 * The whole demo on its screen: starts everything, counts, kills, saves the result and stops everything again.
 * Undefined when Ctrl-C came first. Whatever happens, no process is left.
 */
export async function runDemo(session: Session, options: DemoOptions): Promise<DemoReport | undefined> {
  const { cli } = session;
  const startedMs = cli.clock.monotonicMs();
  const now = () => cli.clock.monotonicMs();
  const names = Array.from({ length: options.instances }, (_, index) => instanceName(index));
  const tracker = makeTracker({
    names,
    cores: options.cores,
    threads: threadsPerInstance(options.cores, options.instances),
    startedMs,
    onNote: (note) => output.note(note),
  });
  const output = demoOutput(options.screen, () => tracker.view(now()));
  cli.signal.addEventListener("abort", () => tracker.enter("stopping"));
  let embedded: Embedded | undefined;
  try {
    tracker.enter("starting Azurite and the instances");
    embedded = await startEmbedded({
      instances: options.instances,
      stateFile: options.stateFile,
      stopGraceMs: 3_000,
      onEvent: (event) => tracker.onEvent(event, now()),
    });
    const hint = options.stateFile === undefined ? "" : " (inspect: leasefold show)";
    tracker.note(
      `Azurite and ${named(options.instances)} started in ${seconds(embedded.startMs)}${hint}`,
      "plain",
      now(),
    );
    const { connectionString } = embedded;
    const client = await cli.connect({ connection: connectionString });
    const report = await play({ session, options, tracker, embedded, client, output, now });
    await output.end();
    return report === undefined ? undefined : { ...report, totalS: (now() - startedMs) / 1_000 };
  } finally {
    await output.end();
    if (cli.signal.aborted) await session.note("stopping, nothing is left behind …");
    await embedded?.stop();
  }
}

async function play(stage: Stage): Promise<DemoReport | undefined> {
  const { session, options, tracker, embedded, client, output, now } = stage;
  const { signal } = session.cli;
  const to = options.to ?? (await choose(stage));
  if (to === undefined || signal.aborted) return undefined;
  tracker.enter("planning");
  const { run } = await submit(client, { calculation: "primes", params: { to } });
  tracker.submitted(to);

  const watched = await watch(stage, run);
  if (watched === undefined) return undefined;
  const { view, plan } = watched;
  if (view.phase !== "complete") {
    await output.end();
    await session.note(`the run is ${view.word}: ${view.error?.message ?? "no reason given"}`);
    session.setExitCode(runFailed);
    return undefined;
  }
  if (options.kill && plan.killed === undefined) {
    tracker.note("it was over before a leader could be killed", "plain", now());
  }
  const saved = await saveDemoResult(session.cli, client, await findManifest(client, run), options.out);
  const { startMs } = embedded;
  return reportOf({ to, view, plan, saved, startMs, hostCalls: tracker.hostCalls(), out: options.out });
}

/** A value that keeps this machine busy for about half a minute; undefined after Ctrl-C. */
async function choose({ session, options, tracker, now }: Stage): Promise<number | undefined> {
  const { clock, signal } = session.cli;
  tracker.enter("measuring how fast this machine counts");
  const threads = options.instances * threadsPerInstance(options.cores, options.instances);
  const speeds = await measureSpeeds(clock, signal);
  if (signal.aborted) return undefined;
  const { to, seconds: takes } = chooseValue(speeds, Math.min(options.cores, threads));
  tracker.note(`${count(to)} should take about ${duration(takes)} here`, "plain", now());
  return to;
}

/** The storage under the demo has ended. */
class BrokenError extends StorageError {
  constructor(why: string) {
    super("busy", "", undefined, why);
  }
}

/** Looks at the run until it is over, and kills on the way. Undefined after Ctrl-C. */
async function watch(
  stage: Stage,
  run: string,
): Promise<{ readonly view: RunView; readonly plan: KillPlan } | undefined> {
  const { session, options, tracker, embedded, client, now } = stage;
  const { clock, signal } = session.cli;
  let plan = noKillYet;
  let busy = 0;
  // A client would try again for a long time before it gave up on storage that is gone.
  const broken = embedded.broken.then((why) => Promise.reject(new BrokenError(why)));
  broken.catch(() => undefined);
  while (!signal.aborted) {
    try {
      const look = Promise.all([status(client, run), leader(client)]);
      const [view, seen] = await Promise.race([look, broken]);
      busy = 0;
      tellLeader(tracker, () => tracker.seeLeader(seen, now()), plan, now());
      tracker.seeRun(view, now());
      if (!view.active) return { view, plan };
    } catch (error) {
      busy += 1;
      const passing =
        error instanceof StorageError && !(error instanceof BrokenError) && error.kind === "busy";
      if (!passing || busy > busyMax) throw error;
    }
    if (options.kill) plan = await act(stage, plan);
    await clock.sleep(lookEveryMs, signal);
  }
  return undefined;
}

const seconds = (ms: number): string => duration(ms / 1_000);
const named = (instances: number): string => `${instances} ${instances === 1 ? "instance" : "instances"}`;
