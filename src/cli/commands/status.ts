import type { Command } from "commander";
import { status } from "../../client/status.ts";
import type { Session } from "../cli.ts";
import { noteInstancesDown } from "../noteInstancesDown.ts";
import { runDetails } from "../render/runDetails.ts";
import { exitCodeOfRun, watchRun } from "../watchRun.ts";

/** `leasefold status RUN`: how a run stands; --watch stays until it is over. */
export function addStatus(program: Command, session: Session): void {
  program
    .command("status")
    .description("how a run stands: progress, rate, time left, who leads, calls and their price")
    .argument("<run>", "id of the run")
    .option("--watch", "show progress until the run is over; exit code 1 if it failed or was cancelled")
    .action(async (run: string, options: { watch?: boolean }) => {
      const { cli } = session;
      const client = await session.client();
      const watched = options.watch === true;
      // With --json the answer alone belongs on standard output.
      const screen = session.json() ? cli.err : cli.out;
      const view = watched ? await watchRun(session, client, run, screen) : await status(client, run);
      if (!watched) await noteInstancesDown(session);
      if (watched) session.setExitCode(exitCodeOfRun(view));
      if (session.json()) return await session.printJson(view);
      await cli.out.write(runDetails(cli.out, view));
    });
}
