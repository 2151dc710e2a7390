import { type Command, Option } from "commander";
import { awaitDeletion } from "../../client/commands/await.ts";
import { command } from "../../client/commands/command.ts";
import type { Change } from "../../client/commands/decideCommand.ts";
import { status } from "../../client/status.ts";
import type { Session } from "../cli.ts";
import { wholeOption } from "../options.ts";
import { answerWaitMs, tellCommand } from "../tellAnswer.ts";
import { waitForEnd } from "../watchRun.ts";

/** `leasefold pause RUN` and `leasefold resume RUN`. */
export function addPauseAndResume(program: Command, session: Session): void {
  program
    .command("pause")
    .description("send no more packs of a run; workers drop what they have not begun")
    .argument("<run>", "id of the run")
    .action((run: string) => tellCommand(session, run, { kind: "pause" }));
  program
    .command("resume")
    .description("go on with a paused run")
    .argument("<run>", "id of the run")
    .action((run: string) => tellCommand(session, run, { kind: "resume" }));
}

/** `leasefold cap RUN N`. */
export function addCap(program: Command, session: Session): void {
  program
    .command("cap")
    .description("limit how many packs of a run are in flight")
    .argument("<run>", "id of the run")
    .argument("<n>", "packs in flight at most", wholeOption)
    .action((run: string, cap: number) => tellCommand(session, run, { kind: "cap", cap }));
}

/** `leasefold cancel RUN`. */
export function addCancel(program: Command, session: Session): void {
  program
    .command("cancel")
    .description("end a run without a result; retry takes it up again")
    .argument("<run>", "id of the run")
    .option("--keep", "finish with what is done: a result with gaps")
    .action((run: string, options: { keep?: boolean }) =>
      tellCommand(session, run, { kind: "cancel", ...options }),
    );
}

interface Options {
  readonly recompute?: boolean;
  readonly mix?: boolean;
  readonly wait?: boolean;
  readonly output?: string;
}

/** `leasefold retry RUN`: what failed or was not done is computed, and the result made anew. */
export function addRetry(program: Command, session: Session): void {
  program
    .command("retry")
    .description("compute what is missing of a failed, cancelled or incomplete run, for a new result")
    .argument("<run>", "id of the run")
    .addOption(
      new Option(
        "--recompute",
        "compute every pack anew, with the code that the instances have now",
      ).conflicts("mix"),
    )
    .option("--mix", "compute what is missing with other code than the rest; the result records both")
    .option("--wait", "show progress, then print the result")
    .option("-o, --output <file>", "with --wait: write the result to a file")
    .action(async (run: string, options: Options) => {
      const change = await changeOf(session, run, options);
      if (options.wait !== true && options.output === undefined)
        return await tellCommand(session, run, change);
      const { generation } = await command(await session.client(), run, change);
      await session.note(`${run} is tried again, generation ${generation}`);
      await waitForEnd(session, run, options.output);
    });
}

/** With the identity of the code that the instances here have, which may differ from that of this program. */
async function changeOf(session: Session, run: string, { recompute, mix }: Options): Promise<Change> {
  const redo = recompute === true ? "recompute" : mix === true ? "mix" : undefined;
  const instances = await session.instances();
  const there = await instances?.calculations().catch(() => undefined);
  if (there === undefined) return { kind: "retry", redo };
  const { calculation } = await status(await session.client(), run);
  return { kind: "retry", redo, code: there.find(({ name }) => name === calculation)?.code };
}

/** `leasefold delete RUN`: everything of a run, its results too. It names one run, so nobody is asked again. */
export function addDelete(program: Command, session: Session): void {
  program
    .command("delete")
    .description("delete a run and everything of it, its results too, whether it works or has ended")
    .argument("<run>", "id of the run")
    .action(async (run: string) => {
      const client = await session.client();
      const given = await command(client, run, { kind: "delete" });
      const outcome = await awaitDeletion(client, given, answerWaitMs, session.cli.signal);
      if (session.json()) return await session.printJson({ ...given, gone: outcome === "gone" });
      await session.print(
        `${run}  delete: ${outcome === "gone" ? "done" : "asked; it goes on until a leader has deleted everything"}`,
      );
    });
}
