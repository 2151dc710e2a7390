import { findManifest } from "../client/result.ts";
import type { Session } from "./cli.ts";
import { duration } from "./render/amounts.ts";
import { stateOf } from "./render/progress.ts";
import { printResult, saveResult } from "./saveResult.ts";
import { exitCodeOfRun, watchRun } from "./watchRun.ts";

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
