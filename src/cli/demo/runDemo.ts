import type { Client } from "../../client/client.ts";
import { leader } from "../../client/leader.ts";
import { findManifest } from "../../client/result.ts";
import type { RunView } from "../../client/runView.ts";
import { status } from "../../client/status.ts";
import { submit } from "../../client/submit.ts";
import { type Embedded, startEmbedded } from "../../local/embedded.ts";
import { threadsPerInstance } from "../../local/embeddedEnv.ts";
import { instanceName } from "../../local/instanceEnv.ts";
import { LeasefoldError, StorageError } from "../../model/errors.ts";
import type { Screen, Session } from "../cli.ts";
import { count, duration } from "../render/amounts.ts";
import { chooseValue, measureSpeeds } from "./calibrate.ts";
import { demoOutput } from "./demoOutput.ts";
import { type KillPlan, nextStep, noKillYet } from "./killPlan.ts";
import { type DemoReport, reportOf } from "./report.ts";
import { saveDemoResult } from "./saveDemoResult.ts";
import { makeTracker, type Tracker } from "./tracker.ts";

export interface DemoOptions {
  readonly to?: number | undefined;
  readonly instances: number;
  readonly kill: boolean;
  readonly out: string;
  readonly cores: number;
  /** Where `.leasefold/local.json` is written. */
  readonly folder: string | undefined;
  readonly screen: Screen;
}

/** What the parts of the demo share. */
interface Stage {
  readonly session: Session;
  readonly options: DemoOptions;
  readonly tracker: Tracker;
  readonly embedded: Embedded;
  readonly client: Client;
  now(): number;
}

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
    startedMs,
    onNote: (note) => output.note(note),
  });
  const output = demoOutput(options.screen, () => tracker.view(now()));
  let embedded: Embedded | undefined;
  try {
    tracker.enter("starting Azurite and the instances");
    embedded = await startEmbedded({
      instances: options.instances,
      folder: options.folder,
      stopGraceMs: 3_000,
      onEvent: (event) => tracker.onEvent(event, now()),
    });
    tracker.note(
      `Azurite and ${named(options.instances)} started in ${seconds(embedded.startMs)}`,
      "plain",
      now(),
    );
    const { connectionString } = embedded;
    const client = await cli.connect({ connection: connectionString });
    const report = await play({ session, options, tracker, embedded, client, now });
    await output.end();
    return report === undefined ? undefined : { ...report, totalS: (now() - startedMs) / 1_000 };
  } finally {
    await output.end();
    if (cli.signal.aborted) await session.note("stopping, nothing is left behind …");
    await embedded?.stop();
  }
}

async function play(stage: Stage): Promise<DemoReport | undefined> {
  const { session, options, tracker, embedded, client, now } = stage;
  const { signal } = session.cli;
  const to = options.to ?? (await choose(stage));
  if (signal.aborted) return undefined;
  tracker.enter("planning");
  const { run } = await submit(client, { calculation: "primes", params: { to } });
  tracker.submitted(to);

  const watched = await watch(stage, run);
  if (watched === undefined) return undefined;
  const { view, plan } = watched;
  if (view.phase !== "complete") {
    throw new LeasefoldError(
      "demo-failed",
      `the run is ${view.word}: ${view.error?.message ?? "no reason given"}`,
    );
  }
  if (options.kill && plan.killed === undefined) {
    tracker.note("it was over before a leader could be killed", "plain", now());
  }
  const saved = await saveDemoResult(session.cli, client, await findManifest(client, run), options.out);
  const { startMs } = embedded;
  return reportOf({ to, view, plan, saved, startMs, hostCalls: tracker.hostCalls(), out: options.out });
}

/** A value that keeps this machine busy for about half a minute. */
async function choose({ session, options, tracker, now }: Stage): Promise<number> {
  const { clock, signal } = session.cli;
  tracker.enter("measuring how fast this machine counts");
  const threads = options.instances * threadsPerInstance(options.cores, options.instances);
  const speeds = await measureSpeeds(clock, signal);
  const { to, seconds: takes } = chooseValue(speeds, Math.min(options.cores, threads));
  tracker.note(`${count(to)} should take about ${duration(takes)} here`, "plain", now());
  return to;
}

/** Looks at the run until it is over, and kills on the way. Undefined after Ctrl-C. */
async function watch(
  stage: Stage,
  run: string,
): Promise<{ readonly view: RunView; readonly plan: KillPlan } | undefined> {
  const { session, options, tracker, embedded, client, now } = stage;
  const { clock, signal } = session.cli;
  let plan = noKillYet;
  let broken: string | undefined;
  let busy = 0;
  void embedded.broken.then((why) => {
    broken = why;
  });
  while (!signal.aborted) {
    if (broken !== undefined) throw new LeasefoldError("broken", broken);
    try {
      const [view, seen] = await Promise.all([status(client, run), leader(client)]);
      busy = 0;
      tellLeader(tracker, () => tracker.seeLeader(seen, now()), plan, now());
      tracker.seeRun(view, now());
      if (!view.active) return { view, plan };
    } catch (error) {
      busy += 1;
      if (!(error instanceof StorageError && error.kind === "busy") || busy > busyMax) throw error;
    }
    if (options.kill) plan = await act(stage, plan);
    await clock.sleep(lookEveryMs, signal);
  }
  return undefined;
}

function tellLeader(tracker: Tracker, see: () => void, plan: KillPlan, nowMs: number): void {
  const before = tracker.leader()?.term;
  see();
  const leads = tracker.leader();
  // A takeover after the kill is told with its time.
  const isTakeover = plan.killed !== undefined && plan.takeover === undefined;
  if (leads === undefined || leads.term === before || isTakeover) return;
  tracker.note(`${leads.name} won the lease and leads in term ${leads.term}`, "plain", nowMs);
}

async function act({ options, tracker, embedded, now }: Stage, before: KillPlan): Promise<KillPlan> {
  const { instances } = embedded;
  const facts = {
    nowMs: now(),
    share: tracker.share(),
    leader: tracker.leader(),
    instances: options.instances,
  };
  const { step, plan } = nextStep(before, facts);
  const index = instances.instances.findIndex(({ name }) => name === plan.killed?.name);
  if (step === "kill" && plan.killed !== undefined) {
    const { name, term } = plan.killed;
    tracker.note(`SIGKILL to ${name}, the leader of term ${term}`, "bad", now());
    await instances.kill(index);
  }
  if (step === "taken-over" && plan.takeover !== undefined) {
    const { by, term, afterMs } = plan.takeover;
    tracker.note(
      `${by} took over in term ${term}, after ${seconds(afterMs)} without a leader`,
      "good",
      now(),
    );
  }
  if (step === "restart") {
    const name = plan.killed?.name ?? "";
    tracker.note(`${name} is started again`, "plain", now());
    const back = () => tracker.note(`${name} is back`, "good", now());
    instances.restart(index).then(back, () => tracker.note(`${name} did not start again`, "bad", now()));
  }
  return plan;
}

const seconds = (ms: number): string => duration(ms / 1_000);
const named = (instances: number): string => `${instances} ${instances === 1 ? "instance" : "instances"}`;
