import type { Command } from "commander";
import { command } from "../../client/command.ts";
import type { Session } from "../cli.ts";
import { tellAnswer } from "../tellAnswer.ts";
import { wholeOption } from "../wholeOption.ts";

/** `leasefold cap RUN N`. */
export function addCap(program: Command, session: Session): void {
  program
    .command("cap")
    .description("limit how many packs of a run are in flight")
    .argument("<run>", "id of the run")
    .argument("<n>", "packs in flight at most", wholeOption)
    .action(async (run: string, cap: number) => {
      const given = await command(await session.client(), run, { kind: "cap", cap });
      await tellAnswer(session, given, `cap ${cap}`);
    });
}
