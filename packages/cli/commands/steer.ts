import type { Command } from "commander";
import type { RunView } from "../../../src/engine/client/runView.ts";
import { InputError, isUnreadable } from "../../../src/engine/model/errors.ts";
import { maxCostText } from "../../../src/engine/model/figures.ts";
import type { Commanded } from "../../client/apiTypes.ts";
import type { Leasefold } from "../../client/leasefoldClient.ts";
import type { Run } from "../../client/run.ts";
import { refuseChanged } from "../askedCalculation.ts";
import { awaitAnswer, awaitDeletion } from "../awaitAnswer.ts";
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
    .action((run: string) => giveCommand(session, run, "pause", (one) => one.pause()));
  onRun(program, "resume")
    .description("continue a paused run")
    .action((run: string) => giveCommand(session, run, "resume", (one) => one.resume()));
}

export function addCap(program: Command, session: Session): void {
  onRun(program, "cap")
    .description("limit how many packs of a run are in flight, or what it may cost")
    .argument("[n]", "packs in flight at most", wholeOption)
    .option("--cost <dollars>", "what it may cost; a run that reached less continues", dollarsOption)
    .action((run: string, cap: number | undefined, { cost: maxCost }: { readonly cost?: number }) => {
      if (cap === undefined && maxCost === undefined)
        throw badOption("cost", "give how many packs may be in flight, or --cost, or both");
      const what = `cap${cap === undefined ? "" : ` ${cap}`}${maxCost === undefined ? "" : ` --cost ${maxCost}`}`;
      return giveCommand(session, run, what, (one) => one.cap({ cap, maxCost }));
    });
}

export function addCancel(program: Command, session: Session): void {
  onRun(program, "cancel")
    .description("end a run without a result; retry can continue it")
    .option("--keep", "finish with what is done instead: a result with gaps")
    .action((run: string, options: { keep?: boolean }) =>
      giveCommand(session, run, options.keep === true ? "cancel --keep" : "cancel", (one) =>
        one.cancel(options),
      ),
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
      const { retry } = (await apiOfCode(session, run)).run(run);
      if (options.wait !== true && options.output === undefined)
        return await giveCommand(session, run, "retry", () => retry());
      const { generation } = await retry();
      await session.note(`${run} is tried again, generation ${generation}`);
      await waitForEnd(session, run, options);
    });
}

/** Of the local instances if they have the code of the run, as that of this program may differ. A file that is newer is refused. */
async function apiOfCode(session: Session, run: string): Promise<Leasefold> {
  const [api, instances] = [await session.api(), await session.instances()];
  const there = await instances?.calculations().catch(() => undefined);
  if (instances === undefined || there === undefined) return api;
  const { calculation } = await api.run(run).status();
  const found = there.find(({ name }) => name === calculation);
  if (found === undefined) return api;
  refuseChanged(found, instances);
  return instances;
}

/** `leasefold delete RUN`: deletes a run and its results; a result is deleted only where somebody says yes. */
export function addDelete(program: Command, session: Session): void {
  onRun(program, "delete")
    .description("delete a run, active or ended, with all that it stored, results included")
    .option("--yes", "do not ask, though the run has a result")
    .action(async (id: string, { yes }: { yes?: boolean }) => {
      const run = (await session.api()).run(id);
      if (yes !== true) await confirmDeletion(session, run);
      const given = await run.delete();
      const gone = await awaitDeletion(session.cli, run, given);
      if (session.json()) return await session.printJson({ ...given, gone });
      const pending = "requested; a leader continues until everything is deleted";
      await session.print(`${id}  delete: ${gone ? "done" : pending}`);
    });
}

/** A run that cannot be read has no result that anybody could miss. */
async function confirmDeletion(session: Session, run: Run): Promise<void> {
  const view = await run.status().catch((error: unknown) => {
    if (isUnreadable(error)) return undefined;
    throw error;
  });
  if (view?.result === undefined) return;
  const look = `${run.id}  ${stateText(view)}, with a result of ${bytes(view.result.bytes)}`;
  await session.confirm("delete", look, "Delete the run and its result?");
}

type Give = (run: Run) => Promise<Commanded>;

/** Gives a command, waits for the leader's answer and tells it. Throws `InputError` for a command that comes too late. */
async function giveCommand(session: Session, id: string, what: string, give: Give): Promise<void> {
  const run = (await session.api()).run(id);
  const given = await give(run);
  const { view, answer } = await awaitAnswer(session.cli, run, given);
  if (answer === "too-late" || answer === "refused") {
    const why = `${what}: ${answer.replace("-", " ")}, run ${given.run} is ${stateText(view)}`;
    throw new InputError("conflict", answer, why);
  }
  if (session.json()) return await session.printJson({ ...given, answer, word: view.word });
  const done = given.changed ? `accepted${workOf(given, view)}` : "it was so before";
  const state = view.pauseReason === undefined ? stateText(view) : `${stateText(view)}: ${maxCostText(view)}`;
  const told = answer === "pending" ? "asked; no leader has answered yet" : `${done}; ${state}`;
  await session.print(`${given.run}  ${what}: ${told}`);
}

/** What a retry computes, where the run was planned. */
function workOf({ kind }: Commanded, { packs }: RunView): string {
  if (kind !== "retry" || packs === undefined) return "";
  return `, ${count(packs.total - packs.done)} of ${countOf(packs.total, "pack")} to compute`;
}
