import type { Client } from "../client/client.ts";
import { diagnose } from "../client/doctor/diagnose.ts";
import { leader } from "../client/leader.ts";
import { findManifest } from "../client/result.ts";
import type { RunView } from "../client/runView.ts";
import { status } from "../client/status.ts";
import { exitCodeOfEnd, StorageError } from "../model/errors.ts";
import { refusedText } from "../model/identity.ts";
import type { Session } from "./cli.ts";
import { liveLine, progressLine } from "./render/progress.ts";
import { duration, oneLine, reusedText, type Screen, stateText } from "./render/text.ts";
import { printResult, saveResult } from "./saveBytes.ts";

/** Often while a run is short; seldom, and so cheap, while it is long. */
const pollMs = (watchedMs: number): number => (watchedMs < 10_000 ? 200 : 1_000);
/** Consecutive polls that storage may refuse as busy. */
const busyMax = 10;

/**
 * Shows a run's progress until it has ended, or Ctrl-C, and returns its last view. The run itself does not depend on
 * it. Notes whenever local instances go down or the run begins to wait for other code.
 */
export async function watchRun(session: Session, client: Client, run: string, screen: Screen) {
  const { cli } = session;
  const live = liveLine(screen, cli.clock);
  const startMs = cli.clock.monotonicMs();
  let busy = 0;
  let down: string | undefined;
  let waiting: string | undefined;
  let isUntold = true;
  const note = async (line: string): Promise<void> => {
    await live.end();
    await session.note(line);
  };
  try {
    for (;;) {
      const downNow = await session.instancesDown();
      if (downNow !== down) await note(downNow ?? "all instances run again");
      down = downNow;
      // Then it is known why nobody leads.
      if (down !== undefined) isUntold = false;
      const view = await status(client, run).catch((error: unknown) => {
        if (error instanceof StorageError && error.kind === "busy" && busy < busyMax) return undefined;
        throw error;
      });
      busy = view === undefined ? busy + 1 : 0;
      if (view !== undefined) {
        const waitsNow = view.otherCode === undefined ? undefined : refusedText(view.otherCode);
        if (waitsNow !== waiting && waitsNow !== undefined) await note(`waiting: ${waitsNow}`);
        waiting = waitsNow;
        const key = `${view.word} ${view.paused} ${view.terms.length}`;
        await live.show(progressLine(view, screen.columns - 1), key);
        if (!view.active || view.word === "not-accepted" || cli.signal.aborted) return view;
        if (isUntold && view.word === "waiting" && cli.clock.monotonicMs() - startMs >= untakenMs) {
          isUntold = false;
          await live.end();
          await noteNobodyLeads(session, client, run);
        }
      }
      await cli.clock.sleep(pollMs(cli.clock.monotonicMs() - startMs), cli.signal);
    }
  } finally {
    await live.end();
  }
}

/** The exit code of commands that wait for a run. */
export const exitCodeOfRun = ({ phase, error }: RunView): number =>
  phase === "failed" || phase === "cancelled" ? exitCodeOfEnd(error?.code) : 0;

/** Shows a run's progress until it has ended, then prints its result or writes it to a file; sets the exit code. */
export async function waitForEnd(session: Session, run: string, output: string | undefined): Promise<void> {
  const { cli } = session;
  const client = await session.client();
  const view = await watchRun(session, client, run, cli.err);
  if (view.active) return await session.note(`${view.run} continues without being watched`);
  session.exitCode = exitCodeOfRun(view);
  const ended = `${view.run} ${stateText(view)} after ${duration(view.elapsedS)}`;
  if (view.phase !== "complete") {
    if (session.json()) return await session.printJson(view);
    return await session.note(view.error === undefined ? ended : `${ended}: ${oneLine(view.error.message)}`);
  }
  const manifest = await findManifest(client, view.run);
  const file = output === undefined ? undefined : await saveResult(cli, client, manifest, output);
  await session.note(file === undefined ? ended : `${ended}; result in ${output}`);
  if (manifest.reused !== undefined)
    await session.note(`${view.run}: ${reusedText(manifest.reused, view.run)}`);
  for (const one of manifest.notes ?? []) await session.note(`${view.run}: ${one}`);
  if (session.json()) return await session.printJson(file === undefined ? view : { ...view, file });
  if (file === undefined) await printResult(cli, client, manifest);
}

/** With an instance alive a run is seen within a second or two. */
const untakenMs = 5_000;

/** Waits until a leader has seen a new run. If none has in time, notes why the run waits. */
export async function noteUntaken(session: Session, run: string): Promise<void> {
  const { clock, signal } = session.cli;
  const client = await session.client();
  const untilMs = clock.monotonicMs() + untakenMs;
  while ((await status(client, run)).word === "waiting" && !signal.aborted) {
    if (clock.monotonicMs() >= untilMs) return await noteNobodyLeads(session, client, run);
    await clock.sleep(pollMs(untakenMs), signal);
  }
}

/** Notes that nobody leads, how to start an instance, and what `doctor` finds; nothing if somebody leads. */
async function noteNobodyLeads(session: Session, client: Client, run: string): Promise<void> {
  const { env, signal } = session.cli;
  if ((await leader(client, signal)).kind === "leading") return;
  await session.note(
    `nobody leads: no instance has taken ${run} for ${untakenMs / 1_000} s, so it waits. Start the function app of ` +
      'this storage, or use "leasefold up", which runs instances and a storage of their own',
  );
  const connect = async () => client;
  const findings = await diagnose({ env, ofApp: false, hostJson: undefined, connect });
  const bad = findings.filter(({ state }) => state === "wrong" || state === "warning");
  for (const { what, cure = "" } of bad) await session.note(`doctor: ${what}; ${cure}`);
  if (bad.length === 0)
    await session.note("doctor finds nothing wrong with the settings here and the storage");
}
