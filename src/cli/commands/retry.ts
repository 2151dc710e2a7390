import type { Command } from "commander";
import { command } from "../../client/commands/command.ts";
import type { Session } from "../cli.ts";
import { tellCommand } from "../tellAnswer.ts";
import { waitForEnd } from "../waitForEnd.ts";

/** `leasefold retry RUN`: what failed or was not done is computed, and the result made anew. */
export function addRetry(program: Command, session: Session): void {
  program
    .command("retry")
    .description("compute what is missing of a failed, cancelled or incomplete run, for a new result")
    .argument("<run>", "id of the run")
    .option("--wait", "show progress, then print the result")
    .option("-o, --output <file>", "with --wait: write the result to a file")
    .action(async (run: string, options: { wait?: boolean; output?: string }) => {
      if (options.wait !== true && options.output === undefined) {
        return await tellCommand(session, run, { kind: "retry" });
      }
      const { generation } = await command(await session.client(), run, { kind: "retry" });
      await session.note(`${run} is tried again, generation ${generation}`);
      await waitForEnd(session, run, options.output);
    });
}
