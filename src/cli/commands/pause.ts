import type { Command } from "commander";
import type { Session } from "../cli.ts";
import { tellCommand } from "../tellAnswer.ts";

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
