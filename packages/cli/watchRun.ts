import type { Workers } from "../../src/engine/client/inspection/workers.ts";
import type { LeaderView } from "../../src/engine/client/leader.ts";
import { findManifest } from "../../src/engine/client/result.ts";
import type { RunView } from "../../src/engine/client/runView.ts";
import { exitCodeOfEnd, StorageError } from "../../src/engine/model/errors.ts";
import { refusedText } from "../../src/engine/model/identity.ts";
import { waitsText } from "../../src/engine/model/waitsText.ts";
import type { Leasefold } from "../client/leasefoldClient.ts";
import type { Session } from "./cli.ts";
import { diagnose } from "./doctor/diagnose.ts";
import { hasGaps } from "./exitCodes.ts";
import { liveLine, progressLine } from "./render/progress.ts";
import { helpText } from "./render/runDetails.ts";
import { type Note, type RunFacts, renderRun, type WorkerFact } from "./render/runScreen.ts";
import { duration, oneLine, type Screen, stateText } from "./render/text.ts";
import { printResult, saveResult } from "./saveResult.ts";

/** Often while a run is short; seldom, and so cheap, while it is long. */
const pollMs = (watchedMs: number): number => (watchedMs < 10_000 ? 200 : 1_000);
/** Consecutive polls that storage may refuse as busy. */
const busyMax = 10;

/** What the demo has on its screen beside the run. */
export interface WatchMore {
  readonly about: string;
  readonly address: string;
  readonly everyMs: number;
  readonly workers: (active: boolean) => readonly WorkerFact[];
  readonly notes: readonly Note[];
  /** Called with what each poll saw. */
  readonly onPoll: (view: RunView, leader: LeaderView) => Promise<void>;
  /** Rejects once storage is gone, for which a client would retry for a long time. */
  readonly broken: Promise<never>;
}

/** Longest time between two reads of the leader record and of the workers' heartbeats, for the screen. */
const aroundMs = 1_000;

/**
 * Shows a run until it has ended, or Ctrl-C, and returns its last view: on a terminal its screen, elsewhere lines of its
 * progress. The run itself does not depend on it. Notes whenever local instances go down or the run begins to wait for
 * other code.
 */
export async function watchRun(
  session: Session,
  api: Leasefold,
  run: string,
  screen: Screen,
  more?: WatchMore,
): Promise<RunView> {
  const { clock, signal } = session.cli;
  const live = liveLine(screen, clock);
  const startMs = clock.monotonicMs();
  const asksAround = screen.isTty || more !== undefined;
  let around: { readonly atMs: number; readonly leader: LeaderView; readonly found: Workers } | undefined;
  let busy = 0;
  let down: string | undefined;
  let waiting: string | undefined;
  let isUntold = more === undefined;
  const note = async (line: string): Promise<void> => {
    live.clear();
    await session.note(line);
  };
  /** Undefined while storage is busy. */
  const poll = async (): Promise<RunView | undefined> => {
    const nowMs = clock.monotonicMs();
    const due = asksAround && (around === undefined || nowMs - around.atMs >= (more?.everyMs ?? aroundMs));
    const noHeartbeats: Workers = { workers: [], runs: [], unreadable: [] };
    const [view, seen, found] = await Promise.all([
      api.run(run).status(),
      due ? api.leader() : undefined,
      due && more === undefined ? api.workers() : noHeartbeats,
    ]);
    if (seen !== undefined) around = { atMs: nowMs, leader: seen, found };
    return view;
  };
  try {
    for (;;) {
      const downNow = more === undefined ? await session.instancesDown() : undefined;
      if (downNow !== down) await note(downNow ?? "all instances run again");
      down = downNow;
      // Then it is known why nobody leads.
      if (down !== undefined) isUntold = false;
      const polled = more === undefined ? poll() : Promise.race([poll(), more.broken]);
      const view = await polled.catch((error: unknown) => {
        if (error instanceof StorageError && error.kind === "busy" && busy < busyMax) return undefined;
        throw error;
      });
      busy = view === undefined ? busy + 1 : 0;
      if (view !== undefined) {
        const { otherCode, waits } = view;
        const waitsNow = otherCode === undefined ? waits?.message : refusedText(otherCode);
        if (waitsNow !== waiting && waitsNow !== undefined)
          await note(`waiting: ${waits === undefined || otherCode ? waitsNow : waitsText(waits)}`);
        waiting = waitsNow;
        if (more !== undefined && around !== undefined) await more.onPoll(view, around.leader);
        const facts: RunFacts = {
          view,
          about: more?.about ?? view.calculation,
          leader: around?.leader,
          workers: more?.workers(view.active) ?? workerFacts(view, around?.found),
          notes: more?.notes ?? [],
          address: more?.address,
        };
        const text = screen.isTty
          ? renderRun(facts, screen).join("\n")
          : progressLine(view, screen.columns - 1);
        await live.show(text, `${view.word} ${view.paused} ${view.terms.length}`);
        if (!view.active || view.word === "not-accepted" || signal.aborted) return view;
        if (isUntold && view.word === "waiting" && clock.monotonicMs() - startMs >= untakenMs) {
          isUntold = false;
          live.clear();
          await noteNobodyLeads(session, run);
        }
      }
      await clock.sleep(more?.everyMs ?? pollMs(clock.monotonicMs() - startMs), signal);
    }
  } finally {
    await live.end();
  }
}

/** Who computes what of the run, by the heartbeats of live processes. Work of less than a second leaves none. */
function workerFacts({ uid, active }: RunView, found: Workers | undefined): readonly WorkerFact[] {
  if (!active) return [];
  return (found?.workers ?? []).flatMap(({ instance, state, computes, holds }) => {
    const mine = computes.filter((one) => one.uid === uid);
    if (state !== "live" || mine.length === 0) return [];
    const works = mine.map(({ pack, work, forS }) => `${pack ?? work} for ${duration(Math.floor(forS))}`);
    const waiting = holds.filter((one) => one.uid === uid).length;
    const doing = `${mine[0]?.pack === undefined ? "" : mine.length === 1 ? "pack " : "packs "}${works.join(", ")}`;
    return [
      { name: instance, doing, style: "green", ...(waiting > 0 ? { done: `${waiting} waiting` } : {}) },
    ];
  });
}

/** The exit code of commands that wait for a run. */
export const exitCodeOfRun = ({ phase, error }: RunView): number =>
  phase === "failed" || phase === "cancelled" ? exitCodeOfEnd(error?.code) : 0;

/** Shows a run's progress until it has ended, then prints its result or writes it to a file; sets the exit code. */
export async function waitForEnd(
  session: Session,
  run: string,
  { output, allowGaps }: { readonly output?: string | undefined; readonly allowGaps?: boolean },
): Promise<void> {
  const { cli } = session;
  const client = await session.storage();
  const view = await watchRun(session, await session.api(), run, cli.err);
  if (view.active) return await session.note(`${view.run} continues without being watched`);
  session.exitCode = view.word === "complete-with-gaps" && allowGaps !== true ? hasGaps : exitCodeOfRun(view);
  const ended = `${view.run} ${stateText(view)} after ${duration(view.elapsedS)}`;
  if (view.phase !== "complete") {
    if (session.json()) return await session.printJson(view);
    await session.note(view.error === undefined ? ended : `${ended}: ${oneLine(view.error.message)}`);
    const help = helpText(view);
    return help === undefined ? undefined : await session.note(help);
  }
  const manifest = await findManifest(client, view.run);
  const file = output === undefined ? undefined : await saveResult(cli, client, manifest, output);
  await session.note(file === undefined ? ended : `${ended}; result in ${output}`);
  for (const one of manifest.notes ?? []) await session.note(`${view.run}: ${one}`);
  if (session.json()) return await session.printJson(file === undefined ? view : { ...view, file });
  if (file === undefined) await printResult(cli, client, manifest);
}

/** With an instance alive a run is seen within a second or two. */
const untakenMs = 5_000;

/** Waits until a leader has seen a new run. If none has in time, notes why the run waits. */
export async function noteUntaken(session: Session, run: string): Promise<void> {
  const { clock, signal } = session.cli;
  const { status } = (await session.api()).run(run);
  const untilMs = clock.monotonicMs() + untakenMs;
  while ((await status()).word === "waiting" && !signal.aborted) {
    if (clock.monotonicMs() >= untilMs) return await noteNobodyLeads(session, run);
    await clock.sleep(pollMs(untakenMs), signal);
  }
}

/** Notes that nobody leads, how to start an instance, and what `doctor` finds; nothing if somebody leads. */
async function noteNobodyLeads(session: Session, run: string): Promise<void> {
  const { env } = session.cli;
  if ((await (await session.api()).leader()).kind === "leading") return;
  await session.note(
    `nobody leads: no instance has taken ${run} for ${untakenMs / 1_000} s, so it waits. Start the function app of ` +
      'this storage, or use "leasefold up", which runs instances and a storage of their own',
  );
  const findings = await diagnose({
    env,
    ofApp: false,
    hostJson: undefined,
    storage: { namedBy: "this command", connect: () => session.storage() },
  });
  const bad = findings.filter(({ state }) => state === "wrong" || state === "warning");
  for (const { what, cure = "" } of bad) await session.note(`doctor: ${what}; ${cure}`);
  if (bad.length === 0)
    await session.note("doctor finds nothing wrong with the settings here and the storage");
}
