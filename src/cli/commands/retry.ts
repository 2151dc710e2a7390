import { type Command, Option } from "commander";
import { command } from "../../client/commands/command.ts";
import type { Change } from "../../client/commands/nextMarker.ts";
import { status } from "../../client/status.ts";
import type { Session } from "../cli.ts";
import { tellCommand } from "../tellAnswer.ts";
import { waitForEnd } from "../waitForEnd.ts";

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
