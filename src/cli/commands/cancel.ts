import type { Command } from "commander";
import { command } from "../../client/command.ts";
import type { Session } from "../cli.ts";
import { tellAnswer } from "../tellAnswer.ts";

/** `leasefold cancel RUN`. */
export function addCancel(program: Command, session: Session): void {
  program
    .command("cancel")
    .description("end a run without a result")
    .argument("<run>", "id of the run")
    .action(async (run: string) => {
      const given = await command(await session.client(), run, { kind: "cancel" });
      await tellAnswer(session, given, "cancel");
    });
}
