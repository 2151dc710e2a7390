import type { Command } from "commander";
import type { Session } from "../cli.ts";
import { tellCommand } from "../tellAnswer.ts";
import { wholeOption } from "../wholeOption.ts";

/** `leasefold cap RUN N`. */
export function addCap(program: Command, session: Session): void {
  program
    .command("cap")
    .description("limit how many packs of a run are in flight")
    .argument("<run>", "id of the run")
    .argument("<n>", "packs in flight at most", wholeOption)
    .action((run: string, cap: number) => tellCommand(session, run, { kind: "cap", cap }));
}
