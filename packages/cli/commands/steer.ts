import type { Command } from "commander";
import { awaitAnswer, awaitDeletion } from "../../../src/engine/client/commands/await.ts";
import { command } from "../../../src/engine/client/commands/command.ts";
import type { Change } from "../../../src/engine/client/commands/decideCommand.ts";
import type { RunView } from "../../../src/engine/client/runView.ts";
import { InputError, isUnreadable } from "../../../src/engine/model/errors.ts";
import { maxCostText } from "../../../src/engine/model/figures.ts";
import { apiOf } from "../apiHere.ts";
import { refuseChanged } from "../askedCalculation.ts";
import type { Session } from "../cli.ts";
import { badOption, dollarsOption, wholeOption } from "../options.ts";
import { bytes, count, countOf, stateText } from "../render/text.ts";
import { checkWritable } from "../saveBytes.ts";
import { waitForEnd } from "../watchRun.ts";

const onRun = (program: Command, name: string): Command =>
  program.command(name).argument("<run>", "id of the run");

export function addPauseAndResume(program: Command, session: Session): void {
  onRun(program, "pause")
    .description("send no more packs of a run; workers skip those that they have not begun")
    .action((run: string) => giveCommand(session, run, { kind: "pause" }));
  onRun(program, "resume")
    .description("continue a paused run")
    .action((run: string) => giveCommand(session, run, { kind: "resume" }));
}

export function addCap(program: Command, session: Session): void {
  onRun(program, "cap")
    .description("limit how many packs of a run are in flight, or what it may cost")
    .argument("[n]", "packs in flight at most", wholeOption)
    .option("--cost <dollars>", "what it may cost; a run that reached less continues", dollarsOption)
    .action((run: string, cap: number | undefined, { cost: maxCost }: { readonly cost?: number }) => {
      if (cap === undefined && maxCost === undefined)
        throw badOption("cost", "give how many packs may be in flight, or --cost, or both");
      return giveCommand(session, run, { kind: "cap", cap, maxCost });
    });
}

export function addCancel(program: Command, session: Session): void {
  onRun(program, "cancel")
    .description("end a run without a result; retry can continue it")
    .option("--keep", "finish with what is done instead: a result with gaps")
    .action((run: string, options: { keep?: boolean }) =>
      giveCommand(session, run, { kind: "cancel", ...options }),
    );
}

interface RetryOptions {
  readonly wait?: boolean;
  readonly output?: string;
  readonly allowGaps?: boolean;
}

/** `leasefold retry RUN`: computes what failed or was not done, for a new result. */
export function addRetry(program: Command, session: Session): void {
  onRun(program, "retry")
    .description("compute what a failed, cancelled or incomplete run lacks, for a new result")
    .option("--wait", "show progress, then print the result")
    .option("-o, --output <file>", "write the result to a file, or one of files to a folder/; implies --wait")
    .option("--allow-gaps", "with --wait: a result with gaps is no failure")
    .action(async (run: string, options: RetryOptions) => {
      await checkWritable(session.cli, options.output);
      const change = await retryOf(session, run);
      if (options.wait !== true && options.output === undefined)
        return await giveCommand(session, run, change);
      const { generation } = await command(await session.client(), run, change);
      await session.note(`${run} is tried again, generation ${generation}`);
      await waitForEnd(session, run, options);
    });
}

/** With the code identity of the local instances, which may differ from that of this program. A file that is newer is refused. */
async function retryOf(session: Session, run: string): Promise<Change> {
  const instances = await session.instances();
  const there = await instances?.calculations().catch(() => undefined);
  if (instances === undefined || there === undefined) return { kind: "retry" };
  const { calculation } = await (await apiOf(session)).run(run).status();
  const found = there.find(({ name }) => name === calculation);
  if (found !== undefined) refuseChanged(found, instances);
  return { kind: "retry", code: found?.code };
}

/** `leasefold delete RUN`: deletes a run and its results; a result is deleted only where somebody says yes. */
export function addDelete(program: Command, session: Session): void {
  onRun(program, "delete")
    .description("delete a run, active or ended, with all that it stored, results included")
    .option("--yes", "do not ask, though the run has a result")
    .action(async (run: string, { yes }: { yes?: boolean }) => {
      const client = await session.client();
      if (yes !== true) await confirmDeletion(session, run);
      const given = await command(client, run, { kind: "delete" });
      const outcome = await awaitDeletion(client, given, answerWaitMs, session.cli.signal);
      if (session.json()) return await session.printJson({ ...given, gone: outcome === "gone" });
      const pending = "requested; a leader continues until everything is deleted";
      await session.print(`${run}  delete: ${outcome === "gone" ? "done" : pending}`);
    });
}

/** A run that cannot be read has no result that anybody could miss. */
async function confirmDeletion(session: Session, run: string): Promise<void> {
  const view = await (await apiOf(session))
    .run(run)
    .status()
    .catch((error: unknown) => {
      if (isUnreadable(error)) return undefined;
      throw error;
    });
  const { result } = view ?? {};
  if (result === undefined) return;
  const look = `${run}  ${stateText(view as RunView)}, with a result of ${bytes(result.bytes)}`;
  await session.confirm("delete", look, "Delete the run and its result?");
}

/** A leader polls every two seconds, and a new one is elected within a lease. */
const answerWaitMs = 10_000;

/** Gives a command, waits for the leader's answer and tells it. Throws `InputError` for a command that comes too late. */
async function giveCommand(session: Session, run: string, change: Change): Promise<void> {
  const client = await session.client();
  const given = await command(client, run, change);
  const { view, answer } = await awaitAnswer(client, given, answerWaitMs, session.cli.signal);
  const what = textOf(change);
  if (answer === "too-late" || answer === "refused") {
    const why = `${what}: ${answer.replace("-", " ")}, run ${given.run} is ${stateText(view)}`;
    throw new InputError("conflict", answer, why);
  }
  if (session.json()) return await session.printJson({ ...given, answer, word: view.word });
  const done = given.changed ? `accepted${workOf(change, view)}` : "it was so before";
  const state = view.pauseReason === undefined ? stateText(view) : `${stateText(view)}: ${maxCostText(view)}`;
  const told = answer === "pending" ? "asked; no leader has answered yet" : `${done}; ${state}`;
  await session.print(`${given.run}  ${what}: ${told}`);
}

/** What a retry computes, where the run was planned. */
function workOf({ kind }: Change, { packs }: RunView): string {
  if (kind !== "retry" || packs === undefined) return "";
  return `, ${count(packs.total - packs.done)} of ${countOf(packs.total, "pack")} to compute`;
}

function textOf(change: Change): string {
  if (change.kind === "cap") {
    const { cap, maxCost } = change;
    return [
      "cap",
      ...(cap === undefined ? [] : [cap]),
      ...(maxCost === undefined ? [] : ["--cost", maxCost]),
    ].join(" ");
  }
  return change.kind === "cancel" && change.keep === true ? "cancel --keep" : change.kind;
}
