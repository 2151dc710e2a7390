import type { Command } from "commander";
import type { Session } from "../cli.ts";
import { tellCommand } from "../tellAnswer.ts";

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
