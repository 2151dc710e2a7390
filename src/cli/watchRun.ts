import type { Client } from "../client/client.ts";
import { findManifest } from "../client/result.ts";
import type { RunView } from "../client/runView.ts";
import { status } from "../client/status.ts";
import { StorageError } from "../model/errors.ts";
import { refusedText } from "../model/identity.ts";
import type { Screen, Session } from "./cli.ts";
import { runFailed } from "./exitCodes.ts";
import { duration } from "./render/amounts.ts";
import { liveLine, progressLine, stateOf } from "./render/progress.ts";
import { printResult, saveResult } from "./saveBytes.ts";

/** Often enough to look alive while a run is short, seldom enough to cost nothing while it is long. */
const pollMs = (watchedMs: number): number => (watchedMs < 10_000 ? 200 : 1_000);
/** A busy moment of storage is no reason to stop watching; this many in a row are. */
const busyMax = 10;

/**
 * Shows a run's progress on the screen until it is over, or Ctrl-C; gives how it stands then. The run itself goes
 * on whatever happens to the one who watches. Where local instances do not run, that is told whenever it changes.
 */
export async function watchRun(
  session: Session,
  client: Client,
  run: string,
  screen: Screen,
): Promise<RunView> {
  const { cli } = session;
  const live = liveLine(screen, cli.clock);
  const startMs = cli.clock.monotonicMs();
  let busy = 0;
  let down: string | undefined;
  let waiting: string | undefined;
  try {
    for (;;) {
      const downNow = await session.instancesDown();
      if (downNow !== down) {
        await live.end();
        await session.note(downNow ?? "all instances run again");
        down = downNow;
      }
      const view = await statusOrBusy(client, run, busy);
      busy = view === undefined ? busy + 1 : 0;
      if (view !== undefined) {
        const waitsNow = view.otherCode === undefined ? undefined : refusedText(view.otherCode);
        if (waitsNow !== waiting && waitsNow !== undefined) {
          await live.end();
          await session.note(`waiting: ${waitsNow}`);
        }
        waiting = waitsNow;
        await live.show(
          progressLine(view, screen.columns - 1),
          `${view.word} ${view.paused} ${view.terms.length}`,
        );
        if (!view.active || view.word === "not-accepted" || cli.signal.aborted) return view;
      }
      await cli.clock.sleep(pollMs(cli.clock.monotonicMs() - startMs), cli.signal);
    }
  } finally {
    await live.end();
  }
}

async function statusOrBusy(client: Client, run: string, busy: number): Promise<RunView | undefined> {
  try {
    return await status(client, run);
  } catch (error) {
    if (error instanceof StorageError && error.kind === "busy" && busy < busyMax) return undefined;
    throw error;
  }
}

/** The exit code for those who waited for a run. */
export const exitCodeOfRun = (view: RunView): number =>
  view.phase === "failed" || view.phase === "cancelled" ? runFailed : 0;

/** Shows a run's progress until it is over, then prints its result or writes it to a file; sets the exit code. */
export async function waitForEnd(session: Session, run: string, output: string | undefined): Promise<void> {
  const { cli } = session;
  const client = await session.client();
  const view = await watchRun(session, client, run, cli.err);
  if (view.active) return await session.note(`${view.run} goes on without being watched`);
  session.setExitCode(exitCodeOfRun(view));
  const ended = `${stateOf(view)} after ${duration(view.elapsedS)}`;
  if (view.phase !== "complete") {
    if (session.json()) return await session.printJson(view);
    return await session.note(
      `${view.run} ${ended}${view.error === undefined ? "" : `: ${view.error.message}`}`,
    );
  }
  const manifest = await findManifest(client, view.run);
  const file = output === undefined ? undefined : await saveResult(cli, client, manifest, output);
  await session.note(`${view.run} ${ended}${file === undefined ? "" : `; result in ${output}`}`);
  if (session.json()) return await session.printJson(file === undefined ? view : { ...view, file });
  if (file === undefined) await printResult(cli, client, manifest);
}
