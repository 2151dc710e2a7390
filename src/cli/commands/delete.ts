import type { Command } from "commander";
import { awaitDeletion } from "../../client/commands/awaitDeletion.ts";
import { command } from "../../client/commands/command.ts";
import type { Session } from "../cli.ts";
import { answerWaitMs } from "../tellAnswer.ts";

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
